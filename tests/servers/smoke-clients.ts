/** Clients of both SDKs that answer every question of the test servers. The current test owns them. */
import { Client as V2Client, type Transport as V2Transport } from '@modelcontextprotocol/client';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport as V1Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { owned } from '../support/owned.ts';

/** Ada, 36: both fields at once, since the forms ask for one of them each. */
const PERSON = { name: 'Ada', age: 36 };

const SAMPLED = {
  model: 'test-model',
  role: 'assistant' as const,
  content: { type: 'text' as const, text: 'sampled' },
};

const SAMPLED_TOOL_USE = {
  model: 'test-model',
  role: 'assistant' as const,
  stopReason: 'toolUse',
  content: { type: 'tool_use' as const, id: 't1', name: 'weather', input: { city: 'Oslo' } },
};

export interface V1Person {
  readonly client: V1Client;
  /** URIs of the resources said to be updated. */
  readonly updated: string[];
  /** Questions taken back before their answer. */
  readonly withdrawn: string[];
}

export interface V1Habits {
  /** Leaves questions unanswered. */
  readonly silent?: boolean;
  readonly refuses?: boolean;
}

export async function connectV1(transport: V1Transport, habits: V1Habits = {}): Promise<V1Person> {
  const client = new V1Client(
    { name: 'smoke', version: '1.0.0' },
    { capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} } } },
  );
  const updated: string[] = [];
  const withdrawn: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
    if (habits.refuses === true) return { action: 'decline' };
    if (habits.silent !== true) return { action: 'accept', ...(params.mode !== 'url' && { content: PERSON }) };
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        withdrawn.push(params.message);
        reject(new Error('withdrawn'));
      });
    });
  });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) =>
    params.tools === undefined ? SAMPLED : SAMPLED_TOOL_USE,
  );
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
  await owned(client).connect(transport);
  return { client, updated, withdrawn };
}

/** The result as it came, with the keys no schema knows. */
export function callRaw(client: V1Client, name: string, args: Record<string, unknown> = {}) {
  return client.request({ method: 'tools/call', params: { name, arguments: args } }, ResultSchema);
}

export async function connectModern(transport: V2Transport, extensions = {}): Promise<V2Client> {
  const client = new V2Client(
    { name: 'smoke', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {} }, sampling: {}, extensions },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: PERSON }));
  client.setRequestHandler('sampling/createMessage', () => SAMPLED);
  await owned(client).connect(transport);
  return client;
}

/** The first text of a result. */
export function textOf(result: object): unknown {
  const content: unknown = 'content' in result ? result.content : undefined;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  return typeof first === 'object' && first !== null && 'text' in first ? first.text : undefined;
}

/** Sizes of the pages of a list, and all names on them. */
export async function pages(list: (cursor?: string) => Promise<{ names: string[]; nextCursor?: string | undefined }>) {
  const sizes: number[] = [];
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor);
    sizes.push(page.names.length);
    names.push(...page.names);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return { sizes, names };
}

/** The client of the v1 SDK, in the three kinds that the legacy era knows. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  RELATED_TASK_META_KEY,
  ResultSchema,
  type CreateMessageResult,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import type { ServerConfig } from '../../../../../src/core/ports/server-config.ts';
import type { Json } from '../../../../support/hub.ts';
import { owned } from '../../../../support/owned.ts';
import { answerTo, nameIn } from '../answers.ts';
import {
  calledWith,
  INFO,
  note,
  type Asked,
  type CallOptions,
  type Called,
  type Fetch,
  type MatrixClient,
} from '../client.ts';

type Transport = StreamableHTTPClientTransport | StdioClientTransport;
type Call = MatrixClient['call'];

/** Can do nothing but call tools. Whoever asks it all the same is written down and refused. */
export async function v1ToolsOnly(config: ServerConfig, fetch?: Fetch): Promise<MatrixClient> {
  const client = new Client(INFO);
  const asked: Asked[] = [];
  client.fallbackRequestHandler = async ({ method, params = {} }) => {
    asked.push(note(method, params, 'request'));
    throw new Error(`cannot do ${method}`);
  };
  const transport = await connect(client, config, fetch);
  return face(client, transport, asked, plainCall(client));
}

export async function v1Asked(config: ServerConfig, fetch?: Fetch): Promise<MatrixClient> {
  const { client, asked } = askable(() => undefined);
  const transport = await connect(client, config, fetch);
  return face(client, transport, asked, plainCall(client));
}

/** Asks for a task wherever it may have one. */
export async function v1Tasks(config: ServerConfig, fetch?: Fetch): Promise<MatrixClient> {
  const callOf = new Map<string, string>();
  const { client, asked } = askable((taskId) => callOf.get(taskId));
  const transport = await connect(client, config, fetch);
  const never = await toolsWithoutTasks(client);
  const plain = plainCall(client);
  return face(client, transport, asked, async (tool, args = {}, options = {}) => {
    if (never.has(tool)) return plain(tool, args, options);
    const { signal } = options;
    return callAsTask(client, { tool, args, signal, created: (taskId) => callOf.set(taskId, nameIn(args)) });
  });
}

async function toolsWithoutTasks(client: Client): Promise<Set<string>> {
  const found = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const { name, execution: { taskSupport = 'forbidden' } = {} } of page.tools) {
      if (taskSupport === 'forbidden') found.add(name);
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

function askable(callOf: (taskId: string) => string | undefined): { client: Client; asked: Asked[] } {
  const client = new Client(INFO, { capabilities: { elicitation: { form: {} }, sampling: {} } });
  const asked: Asked[] = [];
  const answer = (method: string, params: Json & { _meta?: Json | undefined }): Json => {
    const related = params._meta?.[RELATED_TASK_META_KEY] as { taskId: string } | undefined;
    asked.push(
      related === undefined
        ? note(method, params, 'request')
        : note(method, params, 'task request', callOf(related.taskId) ?? 'no call of mine'),
    );
    return answerTo(method, params);
  };
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => answer(method, params) as ElicitResult);
  client.setRequestHandler(
    CreateMessageRequestSchema,
    ({ method, params }) => answer(method, params) as CreateMessageResult,
  );
  return { client, asked };
}

function plainCall(client: Client): Call {
  return async (tool, args = {}, { signal, onProgress }: CallOptions = {}) => {
    const request = { method: 'tools/call', params: { name: tool, arguments: args } };
    const result = await client.request(request, ResultSchema, {
      ...(signal && { signal }),
      ...(onProgress && { onprogress: ({ message }) => onProgress(message) }),
    });
    return calledWith(result, false);
  };
}

interface TaskCall {
  tool: string;
  args: Json;
  signal: AbortSignal | undefined;
  created: (taskId: string) => void;
}

async function callAsTask(client: Client, { tool, args, signal, created }: TaskCall): Promise<Called> {
  const { tasks } = client.experimental;
  const params = { name: tool, arguments: args };
  let cancelling: Promise<unknown> | undefined;
  for await (const message of tasks.callToolStream(params, CallToolResultSchema, { task: {} })) {
    switch (message.type) {
      case 'taskCreated': {
        const { taskId } = message.task;
        created(taskId);
        const cancel = (): void => {
          cancelling = tasks.cancelTask(taskId);
        };
        if (signal?.aborted) cancel();
        else signal?.addEventListener('abort', cancel);
        break;
      }
      case 'taskStatus':
        break;
      case 'result':
        return calledWith(message.result, true);
      case 'error':
        await cancelling;
        throw message.error;
    }
  }
  throw new Error('the stream of a call ended without a word');
}

async function connect(client: Client, config: ServerConfig, fetch?: Fetch): Promise<Transport> {
  const transport =
    'url' in config
      ? new StreamableHTTPClientTransport(new URL(config.url), { ...(fetch && { fetch }) })
      : new StdioClientTransport({ ...config, stderr: 'inherit' });
  await owned(client).connect(transport);
  return transport;
}

function face(client: Client, transport: Transport, asked: Asked[], call: Call): MatrixClient {
  return {
    call,
    asked,
    pid: () => ('pid' in transport ? (transport.pid ?? undefined) : undefined),
    close: async () => {
      if ('terminateSession' in transport) await transport.terminateSession();
      await client.close();
    },
  };
}

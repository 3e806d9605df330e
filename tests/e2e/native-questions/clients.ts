/** Clients of the hub that can be asked, of both SDKs and both eras, with a person in front of them. The test owns them. */
import type { Clock } from '../../../src/lib/clock.ts';
import { Client as V2Client, StreamableHTTPClientTransport as V2Http } from '@modelcontextprotocol/client';
import type { CreateMessageResult, ElicitResult, StandardSchemaV1 } from '@modelcontextprotocol/client';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  httpGateway,
  stdioGateway,
  type Servers,
  type SettingsInput,
  type TestGateway,
} from '../../support/gateway.ts';
import {
  hubOverHttp,
  takeApart,
  type CallOptions,
  type ClientKind,
  type HubClient,
  type Json,
} from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { StdioTransport } from '../../support/stdio-transport.ts';
import type { Way } from '../flows/doors.ts';
import { Person } from './person.ts';

/** What they declare unless the test says otherwise. */
export const BOTH_KINDS = { elicitation: { form: {} }, sampling: {} };

export interface AskableHub extends HubClient {
  person: Person;
}

type Transport = V1Http | V2Http | StdioTransport;

export async function askableOverHttp(
  url: string,
  kind: ClientKind = 'v1',
  capabilities: Json = BOTH_KINDS,
): Promise<AskableHub> {
  const address = new URL(url);
  return kind === 'v1' ? openV1(new V1Http(address), capabilities) : openV2(new V2Http(address), kind, capabilities);
}

export async function askableThrough(
  { door, kind }: Way,
  servers: Servers,
  settings: SettingsInput = {},
  capabilities: Json = BOTH_KINDS,
  clock?: Clock,
): Promise<AskableHub> {
  if (door === 'http') return askableOverHttp((await httpGateway(servers, settings, clock)).url, kind, capabilities);
  const transport = new StdioTransport(await stdioGateway(servers, settings, undefined, clock));
  return kind === 'v1' ? openV1(transport, capabilities) : openV2(transport, kind, capabilities);
}

/** A gateway, a client that can be asked, and another door to the same session. */
export async function withSecondDoor(
  kind: ClientKind,
  servers: Servers,
  settings: SettingsInput = {},
): Promise<{ gateway: TestGateway; hub: AskableHub; other: HubClient }> {
  const gateway = await httpGateway(servers, settings);
  const hub = await askableOverHttp(gateway.url, kind);
  // Windows of a program without sessions share its state; all others speak for themselves, also while they wait.
  return { gateway, hub, other: kind === 'modern' ? await hubOverHttp(gateway.url, 'modern', {}, 'askable') : hub };
}

async function openV1(transport: V1Http | StdioTransport, capabilities: Json): Promise<AskableHub> {
  const client = new V1Client({ name: 'askable', version: '1.0.0' }, { capabilities });
  const person = new Person();
  if ('elicitation' in capabilities) {
    client.setRequestHandler(
      ElicitRequestSchema,
      async ({ method, params }, { signal }) => (await person.take(method, params, signal)) as ElicitResult,
    );
  }
  if ('sampling' in capabilities) {
    client.setRequestHandler(
      CreateMessageRequestSchema,
      async ({ method, params }, { signal }) => (await person.take(method, params, signal)) as CreateMessageResult,
    );
  }
  await owned(client).connect(transport);
  const request: Request = (method, params, options) => client.request({ method, params }, ResultSchema, options);
  return face(client, transport, person, request);
}

/** Results untouched by any schema. */
const ANY: StandardSchemaV1<unknown, Json> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Json }) },
};

async function openV2(transport: V2Http | StdioTransport, kind: ClientKind, capabilities: Json): Promise<AskableHub> {
  const mode = kind === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const client = new V2Client({ name: 'askable', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
  const person = new Person();
  if ('elicitation' in capabilities) {
    client.setRequestHandler(
      'elicitation/create',
      async ({ method, params }, { mcpReq }) => (await person.take(method, params, mcpReq.signal)) as ElicitResult,
    );
  }
  if ('sampling' in capabilities) {
    client.setRequestHandler(
      'sampling/createMessage',
      async ({ method, params }, { mcpReq }) =>
        (await person.take(method, params, mcpReq.signal)) as CreateMessageResult,
    );
  }
  await owned(client).connect(transport);
  const request: Request = (method, params, options) => client.request({ method, params }, ANY, options);
  return face(client, transport, person, request);
}

type Request = (method: string, params: Json, options?: CallOptions) => Promise<Json>;

function face(client: { close(): Promise<void> }, transport: Transport, person: Person, request: Request): AskableHub {
  return {
    person,
    request: (method, params = {}) => request(method, params),
    call: async (name, args = {}, options) =>
      takeApart(await request('tools/call', { name, arguments: args }, options)),
    close: () => client.close(),
    sessionId: () => ('sessionId' in transport ? transport.sessionId : undefined),
    pid: () => ('pid' in transport ? transport.pid : null),
  };
}

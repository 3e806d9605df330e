/** Clients of the hub, of both SDKs and both eras, behind one face. The test owns them. */
import { Client as V2Client, StreamableHTTPClientTransport as V2Http } from '@modelcontextprotocol/client';
import { StdioClientTransport as V2Stdio } from '@modelcontextprotocol/client/stdio';
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as V1Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import type { Clock } from '../../src/lib/clock.ts';
import { VALIDATOR } from '../servers/shared/validator.ts';
import { configFile, stdioGateway, type Servers, type SettingsInput } from './gateway.ts';
import { owned } from './owned.ts';
import { StdioTransport } from './stdio-transport.ts';
import { QUICK_PROGRAM } from './servers.ts';

export type ClientKind = 'v1' | 'v2' | 'modern';

export type Json = Record<string, unknown>;

export interface HubEvent {
  id: string;
  type: string;
  server: string;
  createdAt: string;
  data: Json;
  maybeSeen?: true;
}

export interface PendingElicitation {
  requestId: string;
  server: string;
  message: string;
  requestedSchema?: Json;
  url?: string;
  taskId?: string;
}

export interface PendingSampling {
  requestId: string;
  server: string;
  params: Json;
  taskId?: string;
}

/** One reply of the hub, taken apart. */
export interface Reply {
  /** The result as it came. */
  raw: Json & { content: Json[] };
  isError: boolean;
  /** Text of the first block. */
  text: string;
  /** The first block that is a JSON object of the tool's own: not the events, not what is pending. */
  body: Json;
  events: HubEvent[];
  elicitations: PendingElicitation[];
  samplings: PendingSampling[];
  /** Code of an error reply. */
  code: string | undefined;
}

export interface CallOptions {
  timeout?: number;
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number; total?: number | undefined; message?: string | undefined }) => void;
}

export interface HubClient {
  call(tool: string, args?: Json, options?: CallOptions): Promise<Reply>;
  request(method: string, params?: Json): Promise<Json>;
  close(): Promise<void>;
  /** The legacy session id over HTTP. */
  sessionId(): string | undefined;
  /** The process of the program. */
  pid(): number | null;
}

/** Results untouched by any schema. */
const ANY: StandardSchemaV1<unknown, Json> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Json }) },
};

/** `program`: the name that the client gives itself. `fetch`: what sends its requests. */
export async function hubOverHttp(
  url: string,
  kind: ClientKind = 'v1',
  headers: Record<string, string> = {},
  program = 'test',
  fetch = globalThis.fetch,
): Promise<HubClient> {
  const address = new URL(url);
  const options = { requestInit: { headers }, fetch };
  return kind === 'v1'
    ? connectV1(new V1Http(address, options), program)
    : connectV2(new V2Http(address, options), kind, program);
}

/** Starts a gateway and speaks with it over stdio. */
export async function hubOverStdio(
  servers: Servers,
  settings: SettingsInput = {},
  kind: ClientKind = 'v1',
  clock?: Clock,
): Promise<HubClient> {
  const transport = new StdioTransport(await stdioGateway(servers, settings, undefined, clock));
  return kind === 'v1' ? connectV1(transport) : connectV2(transport, kind);
}

/** Starts the program and speaks with it over stdio. */
export async function hubOfProgram(
  servers: Servers,
  settings: SettingsInput = {},
  kind: ClientKind = 'v1',
): Promise<HubClient> {
  const args = [QUICK_PROGRAM, 'stdio', '--config', await configFile(servers, { logLevel: 'silent', ...settings })];
  const command = { command: process.execPath, args, stderr: 'inherit' as const };
  return kind === 'v1' ? connectV1(new V1Stdio(command)) : connectV2(new V2Stdio(command), kind);
}

async function connectV1(transport: V1Http | V1Stdio | StdioTransport, name = 'test'): Promise<HubClient> {
  const client = new V1Client({ name, version: '1.0.0' }, { jsonSchemaValidator: VALIDATOR });
  await owned(client).connect(transport);
  const request = (method: string, params: Json, options?: CallOptions): Promise<Json> =>
    client.request({ method, params }, ResultSchema, options);
  return asHub(client, transport, request);
}

async function connectV2(
  transport: V2Http | V2Stdio | StdioTransport,
  kind: 'v2' | 'modern',
  name = 'test',
): Promise<HubClient> {
  const mode = kind === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const client = new V2Client({ name, version: '1.0.0' }, { versionNegotiation: { mode } });
  await owned(client).connect(transport);
  const request = (method: string, params: Json, options?: CallOptions): Promise<Json> =>
    client.request({ method, params }, ANY, options);
  return asHub(client, transport, request);
}

function asHub(
  client: { close(): Promise<void> },
  transport: object,
  request: (method: string, params: Json, options?: CallOptions) => Promise<Json>,
): HubClient {
  return {
    request: (method, params = {}) => request(method, params),
    call: async (name, args = {}, options) =>
      takeApart(await request('tools/call', { name, arguments: args }, options)),
    close: () => client.close(),
    sessionId: () => ('sessionId' in transport ? (transport.sessionId as string | undefined) : undefined),
    pid: () => ('pid' in transport ? (transport.pid as number | null) : null),
  };
}

export function takeApart(result: Json): Reply {
  const raw = result as Reply['raw'];
  const objects = raw.content.map(({ text }) => parsed(text)).filter((each) => each !== undefined);
  const body =
    objects.find((each) => !('events_since_last_response' in each) && !('pending_client_action' in each)) ?? {};
  const find = (key: string): unknown => objects.find((each) => key in each)?.[key];
  const pending = (find('pending_client_action') ?? {}) as {
    elicitations?: PendingElicitation[];
    sampling_requests?: PendingSampling[];
  };
  const first = raw.content[0]?.['text'];
  const error = body['error'] as { code?: string } | undefined;
  return {
    raw,
    isError: raw['isError'] === true,
    text: typeof first === 'string' ? first : '',
    body,
    events: (find('events_since_last_response') ?? []) as HubEvent[],
    elicitations: pending.elicitations ?? [],
    samplings: pending.sampling_requests ?? [],
    code: error?.code,
  };
}

/** Id of the task in the reply of a promoted call. */
export function taskIdOf(reply: Reply): string {
  const task = reply.body['proxy_task'] as { task_id?: string } | undefined;
  if (task?.task_id === undefined) throw new Error(`no task in: ${JSON.stringify(reply.raw).slice(0, 500)}`);
  return task.task_id;
}

function parsed(text: unknown): Json | undefined {
  if (typeof text !== 'string' || !text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/**
 * A server on the v1 SDK that asks with tasks, and drives them on its client. What it does is up to the test that holds its
 * `Driven`; its tools ask in the middle of a call. It sends nothing that the client has not declared.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  EmptyResultSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  ResultSchema,
  type CreateMessageRequestParamsBase,
} from '@modelcontextprotocol/sdk/types.js';
import { nameForm } from './shared/forms.ts';

export type Json = Record<string, unknown>;

/** One connected client, in the hand of a test. Everything is JSON, so that the hand may be in another process. */
export interface Driven {
  /** Resolves when requests reach the client: over HTTP it has to open its stream for them first. */
  reached(): Promise<void>;
  /** What the client declared. */
  capabilities(): Promise<Json>;
  /** The result as it came; rejects with the client's error. */
  request(method: string, params?: Json): Promise<Json>;
  /** Sends the request, and takes it back after so many milliseconds. */
  takeBack(method: string, params: Json, ms: number): Promise<void>;
  /** What the SDK's own driver of tasks yields, to the end. */
  elicit(message: string, ttl: number): Promise<Json[]>;
  sample(prompt: string, ttl: number): Promise<Json[]>;
  /** All notifications of the client so far. */
  heard(): Promise<Json[]>;
}

/** A `Driven` in another process is told what to do and tells what came of it, one JSON object a line. */
export interface Order {
  id: number;
  name: keyof Driven;
  args: unknown[];
}

export type Report = { id: number; value: unknown } | { id: number; error: Failure };

export interface Failure {
  message: string;
  code?: number;
  data?: unknown;
}

const PING_MS = 250;

/** `onClient` gets a `Driven` for the client once it is there. */
export function buildReceiverDriver(onClient: (driven: Driven) => void): Server {
  const server = new Server(
    { name: 'receiver-driver', version: '1.0.0' },
    { capabilities: { tools: {} }, enforceStrictCapabilities: true },
  );
  const heard: Json[] = [];
  server.fallbackNotificationHandler = async (notification) => void heard.push({ ...notification });
  server.oninitialized = () => onClient(driven(server, heard));
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: ['ask_with_task', 'sample_with_task'].map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId: relatedRequestId }) => {
    const options = { task: { ttl: 60_000 }, relatedRequestId };
    const { tasks } = server.experimental;
    const said =
      params.name === 'ask_with_task'
        ? await all(tasks.elicitInputStream(nameForm(), options))
        : await all(tasks.createMessageStream(userSays('Say hi'), options));
    return { content: [{ type: 'text', text: JSON.stringify(said.at(-1)) }] };
  });
  return server;
}

function driven(server: Server, heard: Json[]): Driven {
  const { tasks } = server.experimental;
  return {
    async reached() {
      for (;;) {
        try {
          await server.request({ method: 'ping' }, EmptyResultSchema, { timeout: PING_MS });
          return;
        } catch (error) {
          if (!isTimeout(error)) throw error;
        }
      }
    },
    capabilities: async () => ({ ...server.getClientCapabilities() }),
    request: async (method, params = {}) => server.request(known(method, params), ResultSchema),
    async takeBack(method, params, ms) {
      const taken = new AbortController();
      const request = server.request(known(method, params), ResultSchema, { signal: taken.signal });
      setTimeout(() => taken.abort('not wanted any more'), ms);
      await request.then(
        () => Promise.reject(new Error('it was answered')),
        () => undefined,
      );
    },
    elicit: async (message, ttl) => all(tasks.elicitInputStream(nameForm(message), { task: { ttl } })),
    sample: async (prompt, ttl) => all(tasks.createMessageStream(userSays(prompt), { task: { ttl } })),
    heard: async () => heard,
  };
}

function isTimeout(error: unknown): boolean {
  const timeout: number = ErrorCode.RequestTimeout;
  return error instanceof McpError && error.code === timeout;
}

/** The SDK's types know only its own methods and parameters; the test may want to send others. */
function known(method: string, params: Json): { method: 'tasks/get'; params: { taskId: string } } {
  return { method, params } as unknown as ReturnType<typeof known>;
}

function userSays(prompt: string): CreateMessageRequestParamsBase {
  return { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 64 };
}

async function all(stream: AsyncIterable<object>): Promise<Json[]> {
  const messages: Json[] = [];
  for await (const message of stream) messages.push({ ...message });
  return messages;
}

/** A server whose calls go on working after they have asked, until the test lets them end. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { CallToolResult, ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { greeting, nameForm } from '../../servers/shared/forms.ts';
import { serveV1 } from '../../servers/shared/v1-sessions.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

export interface WorkingServer {
  url: string;
  /** Tools whose calls were cancelled. */
  cancelled: string[];
  /** Lets all calls end. */
  release(): void;
  close(): Promise<void>;
}

const LONG = { timeout: 600_000 };
const MESSAGES = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Think' } }];

const TOOLS: Record<string, (extra: Extra, released: Promise<void>) => Promise<string>> = {
  /** Asks a person, tells that it works, and works. */
  ask_and_work: async (extra, released) => {
    const name = greeting(await elicit(extra));
    const progressToken = extra._meta?.progressToken ?? 0;
    const params = { progressToken, progress: 3, total: 4, message: `working for ${name}` };
    await extra.sendNotification({ method: 'notifications/progress', params });
    await released;
    return name;
  },
  /** Asks a person and a model at once. */
  ask_two_kinds: async (extra) => {
    const params = { messages: MESSAGES, maxTokens: 10 };
    const sampled = extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema, LONG);
    const [name, { model }] = await Promise.all([elicit(extra), sampled]);
    return `${greeting(name)}, says ${model}`;
  },
  /** Asks in which folders the client works. */
  folders: async (extra) => {
    const { roots } = await extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema, LONG);
    return `${roots.length} folders`;
  },
  echo: async () => 'echo',
};

export async function startWorkingServer(): Promise<WorkingServer> {
  const cancelled: string[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const build = (): Server => {
    const server = new Server({ name: 'working', version: '1.0.0' }, { capabilities: { tools: {} } });
    const tools = Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: 'object' as const } }));
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params: { name } }, extra): Promise<CallToolResult> => {
      extra.signal.addEventListener('abort', () => cancelled.push(name));
      return { content: [{ type: 'text', text: (await TOOLS[name]?.(extra, released)) ?? 'what?' }] };
    });
    return server;
  };
  const served = await serveV1(build);
  const close = async (): Promise<void> => {
    release();
    await served.close();
  };
  return { url: served.url, cancelled, release: () => release(), close };
}

async function elicit(extra: Extra) {
  return extra.sendRequest({ method: 'elicitation/create', params: nameForm() }, ElicitResultSchema, LONG);
}

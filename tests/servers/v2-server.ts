/**
 * A server on the v2 SDK, for both eras: the SDK turns its input-required results into requests to a 2025-era client.
 *
 * `tools/call` must be a registered handler for that, and so the SDK drops keys its schemas do not know from content
 * blocks. Keys under `_meta` survive.
 */
import { ProtocolError, ProtocolErrorCode, Server, type Prompt, type Resource } from '@modelcontextprotocol/server';
import { page } from './shared/page.ts';
import type { V2State } from './v2/state.ts';
import { TOOLS } from './v2/tools.ts';

export { newV2State, type V2State } from './v2/state.ts';

const TOOLS_PER_PAGE = 3;
const OTHERS_PER_PAGE = 2;

const RESOURCES: readonly Resource[] = [
  { uri: 'test://text', name: 'text', title: 'A text', mimeType: 'text/plain' },
  { uri: 'test://json', name: 'json', mimeType: 'application/json' },
  { uri: 'test://more', name: 'more', mimeType: 'text/plain' },
];

const PROMPTS: readonly Prompt[] = [
  { name: 'plain', description: 'No arguments' },
  { name: 'greet', description: 'Greets somebody', arguments: [{ name: 'who', required: true }] },
  { name: 'last' },
];

export function buildV2Server(state: V2State): Server {
  const server = new Server(
    { name: 'v2-test-server', title: 'V2 test server', version: '2.3.4' },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: 'Use echo to hear yourself.',
    },
  );
  server.onerror = (error) => void state.errors.push(error.message);

  server.setRequestHandler('tools/list', ({ params }) => {
    const { items, next } = page(TOOLS, TOOLS_PER_PAGE, params?.cursor);
    return { tools: items.map((tool) => tool.definition), ...next };
  });
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const { name, arguments: args = {} } = params;
    const tool = TOOLS.find(({ definition }) => definition.name === name);
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
    state.calls.push({ tool: name, args });
    const label = typeof args['text'] === 'string' ? `${name}:${args['text']}` : name;
    return recordAbort(state, label, context.mcpReq.signal, tool.run(args, context));
  });

  server.setRequestHandler('resources/list', ({ params }) => {
    const { items, next } = page(RESOURCES, OTHERS_PER_PAGE, params?.cursor);
    return { resources: items, ...next };
  });
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const resource = RESOURCES.find((known) => known.uri === uri);
    if (resource === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found', { uri });
    return { contents: [{ uri, text: resource.name, ...(resource.mimeType && { mimeType: resource.mimeType }) }] };
  });

  server.setRequestHandler('prompts/list', ({ params }) => {
    const { items, next } = page(PROMPTS, OTHERS_PER_PAGE, params?.cursor);
    return { prompts: items, ...next };
  });
  server.setRequestHandler('prompts/get', ({ params }) => {
    if (!PROMPTS.some(({ name }) => name === params.name)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name}`);
    }
    const text = `${params.name} ${params.arguments?.['who'] ?? ''}`.trim();
    return { messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
  return server;
}

/** Under the modern era a signal may fire after its call ended, when the exchange is torn down. */
async function recordAbort<T>(state: V2State, label: string, signal: AbortSignal, call: Promise<T>): Promise<T> {
  const record = () => void state.cancelled.push(label);
  signal.addEventListener('abort', record, { once: true });
  try {
    return await call;
  } finally {
    signal.removeEventListener('abort', record);
  }
}

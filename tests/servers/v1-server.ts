/**
 * A server on the v1 SDK, made for being put behind the gateway. One per session; what tests look at is in `state`.
 *
 * `tools/call` goes through the fallback handler because a registered one parses its results and drops every key the
 * schemas do not know.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { VALIDATOR } from './shared/validator.ts';
import { page } from './shared/page.ts';
import { servePrompts } from './v1/prompts.ts';
import { serveResources } from './v1/resources.ts';
import { endSession, openSession, type V1State } from './v1/state.ts';
import { askTools } from './v1/tools-ask.ts';
import { basicTools } from './v1/tools-basic.ts';
import { notifyTools } from './v1/tools-notify.ts';
import { processTools } from './v1/tools-process.ts';
import { sampleTools } from './v1/tools-sample.ts';

export { newV1State, type V1State } from './v1/state.ts';

const TOOLS_PER_PAGE = 3;
const TOOLS = [...basicTools, ...askTools, ...sampleTools, ...notifyTools, ...processTools];
const BY_NAME = new Map(TOOLS.map((tool) => [tool.definition.name, tool]));

/** `crash` is what the `crash` tool does: end the process, or whatever comes near to it inside a test. */
export function buildV1Server(state: V1State, crash: () => void = () => process.exit(1)): Server {
  const server = new Server(
    { name: 'v1-test-server', title: 'V1 test server', version: '1.2.3' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
      },
      instructions: 'Use echo to hear yourself.',
      jsonSchemaValidator: VALIDATOR,
    },
  );
  const session = openSession(state, server);
  server.onclose = () => endSession(state, session);
  server.onerror = (error) => void state.errors.push(error.message);

  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const { items, next } = page(TOOLS, TOOLS_PER_PAGE, params?.cursor);
    return { tools: items.map((tool) => tool.definition), ...next };
  });
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    session.logLevel = params.level;
    return {};
  });
  serveResources(server, state, session);
  servePrompts(server);

  server.fallbackRequestHandler = async (request, extra) => {
    if (request.method !== 'tools/call') throw new McpError(ErrorCode.MethodNotFound, 'Method not found');
    const { name, arguments: args = {} } = CallToolRequestSchema.parse(request).params;
    const tool = BY_NAME.get(name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name}`);
    state.calls.push({ tool: name, args });
    const label = typeof args['text'] === 'string' ? `${name}:${args['text']}` : name;
    extra.signal.addEventListener('abort', () => void state.cancelled.push(label), { once: true });
    return tool.run(args, { state, session, extra, crash });
  };
  return server;
}

/** A server on the v1 SDK whose only prompt asks two things at once before it is given. The test owns it. */
import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema, GetPromptRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { AGE_FORM, nameForm } from '../../../servers/shared/forms.ts';
import { listen } from '../../../servers/shared/http-host.ts';
import { SessionTable } from '../../../servers/shared/sessions.ts';
import { owned } from '../../../support/owned.ts';

export interface AskingPrompts {
  url: string;
  /** How often the prompt was asked for, and how often nobody wanted it any more. */
  asked: number;
  stopped: number;
}

export async function startAskingPrompts(): Promise<AskingPrompts> {
  const state = { asked: 0, stopped: 0 };
  const table = new SessionTable(async ({ opened, closed }) => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => opened(id, transport),
    });
    transport.onclose = () => closed(transport.sessionId, transport);
    await buildServer(state).connect(transport);
    return transport;
  });
  const host = await listen({
    port: undefined,
    onerror: () => {},
    handle: (request, response) => table.handle(request, response),
  });
  owned({
    close: async () => {
      await table.close();
      await host.close();
    },
  });
  return Object.assign(state, { url: `http://127.0.0.1:${host.port}/mcp` });
}

function buildServer(state: Pick<AskingPrompts, 'asked' | 'stopped'>): Server {
  const server = new Server({ name: 'asking-prompts', version: '1.0.0' }, { capabilities: { prompts: {} } });
  server.setRequestHandler(GetPromptRequestSchema, async (_request, { sendRequest, signal }) => {
    state.asked += 1;
    signal.addEventListener('abort', () => {
      state.stopped += 1;
    });
    const [name, age] = await Promise.all(
      [nameForm(), AGE_FORM].map((params) =>
        sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, { timeout: 60_000, signal }),
      ),
    );
    const text = `${String(name?.content?.['name'])}, ${String(age?.content?.['age'])}`;
    return { messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
  return server;
}

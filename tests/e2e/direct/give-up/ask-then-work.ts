/** A server on the v1 SDK whose only tool asks for a name and then works until the test lets it end. The test owns it. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { greeting, nameForm } from '../../../servers/shared/forms.ts';
import { serveV1 } from '../../../servers/shared/v1-sessions.ts';
import { owned } from '../../../support/owned.ts';

export interface AskThenWork {
  url: string;
  /** How often the tool was called, and how often it has its answer. */
  calls: number;
  answered: number;
  release: () => void;
}

export async function startAskThenWork(): Promise<AskThenWork> {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const state = { url: '', calls: 0, answered: 0, release };
  const build = (): Server => {
    const server = new Server({ name: 'ask-then-work', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, async (_request, { sendRequest, signal }) => {
      state.calls += 1;
      const request = { method: 'elicitation/create' as const, params: nameForm() };
      const answer = await sendRequest(request, ElicitResultSchema, { timeout: 60_000, signal });
      state.answered += 1;
      await released;
      return { content: [{ type: 'text', text: greeting(answer) }] };
    });
    return server;
  };
  state.url = owned(await serveV1(build)).url;
  return state;
}

/** A server on the v1 SDK whose only prompt asks two things at once before it is given. The test owns it. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ElicitResultSchema, GetPromptRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { AGE_FORM, nameForm } from '../../../servers/shared/forms.ts';
import { serveV1 } from '../../../servers/shared/v1-sessions.ts';
import { owned } from '../../../support/owned.ts';

export interface AskingPrompts {
  url: string;
  /** How often the prompt was asked for, and how often nobody wanted it any more. */
  asked: number;
  stopped: number;
}

export async function startAskingPrompts(): Promise<AskingPrompts> {
  const state = { asked: 0, stopped: 0 };
  const { url } = owned(await serveV1(() => buildServer(state)));
  return Object.assign(state, { url });
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

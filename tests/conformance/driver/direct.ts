import { TaskClient, type PendingElicitation, type PendingSample } from '../../../src/client/index.ts';
import { untouchedForm } from './form.ts';
import type { BeforeAnswer, Way } from './way.ts';

/** Our client alone, with a user who accepts every form as it comes. */
export function direct(url: string, beforeAnswer: BeforeAnswer): Way {
  const client = new TaskClient({ url }, { elicitation: true, sampling: true, reconnectAttempts: 0 });
  client.addEventListener('newPendingElicitation', ({ detail }) => void accept(detail, beforeAnswer));
  client.addEventListener('newPendingSample', ({ detail }) => void sample(detail, beforeAnswer));
  return {
    listTools: async () => client.listTools(),
    callTool: async (name, args) => {
      const { result, success } = await client.callTool(name, args);
      if (!success || result === null) throw new Error(`${name} failed: ${JSON.stringify(result)}`);
      return result;
    },
    listResources: async () => client.listAll('resources/list', 'resources'),
    readResource: async (uri) => void (await client.request('resources/read', { uri })),
    listPrompts: async () => client.listAll('prompts/list', 'prompts'),
    getPrompt: async (name) => void (await client.request('prompts/get', { name })),
    close: async () => client.disconnect(),
  };
}

async function accept(question: PendingElicitation, beforeAnswer: BeforeAnswer): Promise<void> {
  await beforeAnswer();
  question.respond({ action: 'accept', content: untouchedForm(question.requestedSchema) });
}

async function sample(question: PendingSample, beforeAnswer: BeforeAnswer): Promise<void> {
  await beforeAnswer();
  question.respond({ role: 'assistant', model: 'none', content: { type: 'text', text: 'Hello.' } });
}

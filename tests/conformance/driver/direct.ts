import { TaskClient, type PendingElicitation, type PendingSample } from '../../../src/client/index.ts';
import { CommandAccount } from '../../../src/cli/account/command-account.ts';
import type { HttpServerConfig } from '../../../src/core/ports/server-config.ts';
import { openAccounts, type OwnAccounts } from '../../../src/main.ts';
import { signInWith } from '../../auth/sign-in/browser.ts';
import { configFor, SERVER } from './config.ts';
import { untouchedForm } from './form.ts';
import type { BeforeAnswer, Json, Way } from './way.ts';

/** Our client alone, with a user who accepts every form as it comes. */
export async function direct(url: string, beforeAnswer: BeforeAnswer, auth?: Json): Promise<Way> {
  const loaded = await configFor(url, auth);
  const config = loaded.servers.get(SERVER) as HttpServerConfig;
  const open = async (): Promise<OwnAccounts> => openAccounts(loaded);
  const ask = async ({ url: link }: { url: string }): Promise<void> => void (await signInWith(link));
  const account = new CommandAccount({ server: SERVER, config, open, ask });
  const options = { elicitation: true, sampling: true, reconnectAttempts: 0 };
  const client = new TaskClient(config, options, undefined, account.account);
  const connected = async (): Promise<unknown> => account.connect(async () => client.connect());
  client.addEventListener('newPendingElicitation', ({ detail }) => void accept(detail, beforeAnswer));
  client.addEventListener('newPendingSample', ({ detail }) => void sample(detail, beforeAnswer));
  return {
    listTools: async () => {
      await connected();
      return client.listTools();
    },
    callTool: async (name, args) => {
      await connected();
      const { result, success } = await client.callTool(name, args);
      if (!success || result === null) throw new Error(`${name} failed: ${JSON.stringify(result)}`);
      return result;
    },
    listResources: async () => client.listAll('resources/list', 'resources'),
    readResource: async (uri) => void (await client.request('resources/read', { uri })),
    listPrompts: async () => client.listAll('prompts/list', 'prompts'),
    getPrompt: async (name) => void (await client.request('prompts/get', { name })),
    close: async () => {
      await client.disconnect();
      await account.close();
    },
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

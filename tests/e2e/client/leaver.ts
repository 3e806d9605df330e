/** A program that uses a client, disconnects, and then has nothing left to do. Arguments: what it does, and where. */
import { TaskClient, type ServerConfig, type TaskClientError } from '../../../src/client/index.ts';

const [, , deed = '', server = ''] = process.argv;
const client = new TaskClient(JSON.parse(server) as ServerConfig, { elicitation: true });
let left: Promise<string> | undefined;

const DEEDS: Record<string, () => Promise<unknown>> = {
  calls: () => client.callTool('echo', { text: 'hi' }),
  'fails to connect': () => client.connect().catch(() => {}),
  'leaves a call': async () => {
    leave('slow', { ms: 600_000 });
    await client.callTool('echo', { text: 'the server has the call before this' });
  },
  'leaves a task': async () => {
    leave('hold');
    await new Promise((resolve) => client.addEventListener('taskCreated', resolve));
  },
  'leaves a question': async () => {
    leave('ask');
    await new Promise((resolve) => client.addEventListener('newPendingElicitation', resolve));
  },
};

function leave(tool: string, args: Record<string, unknown> = {}): void {
  left = client.callToolStream(tool, args).then(
    () => 'with a result',
    ({ kind }: TaskClientError) => kind,
  );
}

async function main(): Promise<void> {
  await DEEDS[deed]?.();
  await client.disconnect();
  console.log('disconnected');
  if (left !== undefined) console.log(`ended: ${await left}`);
}

void main();

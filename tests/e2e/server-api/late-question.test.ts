import { expect, test } from 'vitest';
import { createTaskServer, QuestionError, type RunningTask } from '../../../src/server/index.ts';
import { owned } from '../../support/owned.ts';
import { modern, modernTask } from './wire.ts';

const QUESTION = { message: 'Still there?', requestedSchema: { type: 'object', properties: {} } };
const TTL_MS = 500;

async function withEndedCall(): Promise<{ url: string; ended: RunningTask }> {
  const seen: RunningTask[] = [];
  const server = createTaskServer({
    name: 'app',
    version: '1.0.0',
    settings: { direct: { taskAfterMs: 50 }, tasks: { ttlMs: TTL_MS } },
    tools: {
      over: { run: (_args, task) => `ended ${seen.push(task)}` },
      never: { run: async () => new Promise<string>(() => {}) },
    },
  });
  const url = await owned(server).listen();
  await modern(url, 'tools/call', { name: 'over' });
  const [ended] = seen;
  if (ended === undefined) throw new Error('the handler was not called');
  return { url, ended };
}

test('D-1: a question after the end of the call is rejected', async () => {
  const { ended } = await withEndedCall();
  await expect(ended.elicit(QUESTION)).rejects.toThrow(QuestionError);
  await expect(ended.sample({ messages: [], maxTokens: 1 })).rejects.toThrow('the call has ended');
});

test('D-1, T-3: a question after the end of the call does not pause the TTL of another call', async () => {
  const { url, ended } = await withEndedCall();
  const { taskId } = await modern(url, 'tools/call', { name: 'never' });
  // Whether it is refused is seen above.
  ended.elicit(QUESTION).catch(() => {});
  const task = await modernTask(url, String(taskId), 'failed');
  expect(task['error']).toMatchObject({ message: expect.stringContaining(`TTL of ${TTL_MS} ms`) as string });
});

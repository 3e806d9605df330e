import { expect, test } from 'vitest';
import { clientOf, next, soon, text, unsigned } from './clients.ts';
import { WITH_TASKS, WITHOUT_TASKS } from './servers.ts';
import { startSessionServer } from './session-server.ts';

const STEPS = [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` }));

test.each(WITHOUT_TASKS)('C-1: progress of a call is emitted as an event ($era, $door)', async ({ start }) => {
  const { client, of } = clientOf((await start()).config);
  const { result } = await client.callTool('slow', { ms: 300, steps: 3, text: 'there' });
  expect(unsigned(result)).toEqual(text('there'));
  expect(of('progressNotification')).toEqual(STEPS.map((step) => ({ toolName: 'slow', ...step })));
});

const CORE = WITH_TASKS.filter(({ tasks }) => tasks === '2025-11-25');

test.each(CORE)('C-1: a progress event names its task ($door)', async ({ start }) => {
  const { client, of } = clientOf((await start()).config);
  const calls = ['one', 'two'].map((said) =>
    client.callToolStream('slow', { ms: 300, steps: 3, by: 'progress', text: said }),
  );
  const ended = await Promise.all(calls);
  for (const { taskId } of ended) {
    const mine = of('progressNotification').filter((progress) => progress.taskId === taskId);
    // The first may come before the server has named the task.
    expect(mine.slice(-2)).toEqual(STEPS.slice(1).map((step) => ({ toolName: 'slow', taskId, ...step })));
  }
  expect(of('progressNotification')).toHaveLength(2 * STEPS.length);
});

test('C-1: progress is attributed to a task by the related task id alone', async () => {
  const server = await startSessionServer();
  const { client, of } = clientOf({ url: server.url });
  const stream = client.callToolStream('hold');
  const { taskId } = await next(() => of('taskCreated'));
  // What a server says unasked comes on a stream that may not be there yet.
  await soon(async () => {
    await server.report(taskId, 2);
    return of('progressNotification')[0];
  }).toEqual({ toolName: 'hold', taskId, progress: 2, total: 5 });
  await server.release();
  await stream;
});

test('C-1: progress of a known task that is not followed is emitted as an event', async () => {
  const server = await startSessionServer();
  const { client, of } = clientOf({ url: server.url });
  const created = await client.request('tools/call', { name: 'hold', arguments: {}, task: {} });
  const { taskId } = created['task'] as { taskId: string };
  const told = async (progress: number): Promise<unknown> => {
    await server.report(taskId, progress);
    return of('progressNotification').at(-1);
  };
  // Of a task that it does not know it tells nothing.
  await client.listTools();
  await told(1);
  await client.getTask(taskId);
  expect(client.getClientTasks()).toMatchObject([{ taskId }]);
  await soon(() => told(2)).toEqual({ toolName: '', taskId, progress: 2, total: 5 });
  expect(of('progressNotification').filter(({ progress }) => progress === 1)).toEqual([]);
  await server.release();
});

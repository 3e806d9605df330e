import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { owned } from '../../support/owned.ts';
import { clientOf, errorOf, next, soon, text } from './clients.ts';

/** Each can be stopped and started again with the tasks that it had. */
const KEEPING = [
  {
    tasks: '2025-11-25',
    start: async () => {
      const first = owned(await startTasksV1Http());
      const again = async () => owned(await startTasksV1Http({ port: first.port, state: first.state }));
      return { ...first, again };
    },
  },
  {
    tasks: '2026-07-28',
    start: async () => {
      const first = owned(await startTasksV2Http());
      const again = async () => owned(await startTasksV2Http({ port: first.port, state: first.state }));
      return { ...first, again };
    },
  },
];

test.each(KEEPING)('C-1: the result of a task arrives after the server was away ($tasks)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf({ url: server.url });
  const stream = client.callToolStream('hold', { text: 'kept' });
  const { taskId } = await next(() => of('taskCreated'));
  await server.stop();
  await next(() => of('disconnected'));
  const { state } = await server.again();
  await soon(() => of('connected').length).toBe(2);
  // It is followed all along, so it stays among those that the client knows of.
  expect(client.getClientTasks()).toMatchObject([{ taskId, status: 'working' }]);
  state.release();
  expect(await stream).toMatchObject({ taskId, result: text('kept'), success: true });
  expect(of('taskCreated')).toHaveLength(1);
  expect(of('taskCompleted')).toEqual([{ taskId, result: text('kept') }]);
  expect(of('taskFailed')).toEqual([]);
});

test.each(KEEPING)('C-1: a question is asked and answered after the server was away ($tasks)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf({ url: server.url }, { elicitation: true });
  const seen: unknown[] = [];
  client.addEventListener('newPendingElicitation', ({ detail: { taskId } }) => {
    seen.push(client.getClientTasks().find((task) => task.taskId === taskId)?.status);
  });
  const stream = client.callToolStream('ask');
  const first = await next(() => of('newPendingElicitation'));
  await server.stop();
  await next(() => of('disconnected'));
  await server.again();
  await soon(() => of('connected').length).toBe(2);
  // Asked with a request, it went with the connection and comes again; asked by the task itself, it is still open.
  await soon(() => of('newPendingElicitation').filter(({ over }) => !over.aborted).length).toBe(1);
  const open = of('newPendingElicitation').find(({ over }) => !over.aborted);
  expect(open?.taskId).toBe(first.taskId);
  open?.respond({ action: 'accept', content: { name: 'Ada' } });
  expect((await stream).result).toEqual(text('Hello Ada'));
  expect(seen.every((status) => status === 'input_required')).toBe(true);
});

test.each(KEEPING)('C-1: broken sockets lose no task ($tasks)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf({ url: server.url });
  const streams = ['one', 'two', 'three'].map((said) => client.callToolStream('hold', { text: said }));
  await soon(() => of('taskCreated').length).toBe(3);
  server.breakStreams();
  await client.ping().catch(() => {
    // It may have gone out on one of the broken ones.
  });
  server.breakStreams();
  server.state.release();
  const ended = await Promise.all(streams);
  expect(ended.map(({ result }) => result)).toEqual(['one', 'two', 'three'].map(text));
});

test.each(KEEPING)('C-1: a call fails when its server returns without the task ($tasks)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf({ url: server.url });
  const ended = errorOf(client.callToolStream('hold'));
  await next(() => of('taskCreated'));
  await server.stop();
  await next(() => of('disconnected'));
  server.state.forget();
  await server.again();
  const error = await ended;
  expect(error).toMatchObject({
    kind: 'error',
    code: -32_602,
    message: expect.stringContaining('no longer knows its task') as unknown,
  });
  expect(of('taskFailed')).toMatchObject([{ error }]);
});

test.each(KEEPING)('C-1: a call fails when its server does not return ($tasks)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf({ url: server.url }, { reconnectAttempts: 1 });
  const ended = errorOf(client.callToolStream('hold'));
  const { taskId } = await next(() => of('taskCreated'));
  await server.close();
  const error = await ended;
  expect(error.kind).toMatch(/unreachable|lost/);
  expect(of('taskFailed')).toEqual([{ taskId, error }]);
});

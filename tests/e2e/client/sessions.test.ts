import { expect, test } from 'vitest';
import { clientOf, errorOf, next, soon, text } from './clients.ts';
import { startSessionServer } from './session-server.ts';

test('C-1: a client that continues a session finds its task', async () => {
  const server = await startSessionServer();
  const first = clientOf({ url: server.url });
  const left = errorOf(first.client.callToolStream('hold'));
  const { taskId } = await next(() => first.of('taskCreated'));
  const { sessionId } = first.client;
  expect([...server.sessions]).toEqual([sessionId]);
  await first.client.disconnect({ keepSession: true });
  expect((await left).kind).toMatch(/lost|unreachable/);
  expect([...server.sessions]).toEqual([sessionId]);
  expect(server.received.filter(({ method }) => method === 'tasks/cancel')).toEqual([]);

  // Who comes without the session does not find it.
  const stranger = clientOf({ url: server.url });
  expect(await errorOf(stranger.client.getTask(taskId))).toMatchObject({ kind: 'error', code: -32_602 });
  await stranger.client.disconnect();

  const second = clientOf({ url: server.url }, sessionId === undefined ? {} : { sessionId });
  expect(await second.client.getTask(taskId)).toMatchObject({ taskId, status: 'working' });
  expect(second.client.sessionId).toBe(sessionId);
  expect((await second.client.listTasks()).tasks).toMatchObject([{ taskId }]);
  expect(second.client.getTaskCapabilities()).toEqual({ list: true, cancel: true });
  const result = second.client.getTaskResult(taskId);
  await server.release();
  expect(await result).toEqual(text('released'));
  // It is as good as any other session: new tasks can be made, too.
  const again = second.client.callToolStream('hold');
  for await (const message of again) {
    expect(message).toMatchObject({ type: 'taskCreated', task: { status: 'working' } });
    break;
  }
  await server.release();
  expect((await again).result).toEqual(text('released'));
  expect(server.received.filter(({ method }) => method === 'initialize')).toHaveLength(2);
});

test('C-1: disconnect ends the session', async () => {
  const server = await startSessionServer();
  const { client } = clientOf({ url: server.url });
  await client.connect();
  expect(client.sessionId).toEqual(expect.any(String));
  expect(server.sessions.size).toBe(1);
  await client.disconnect();
  expect(server.sessions.size).toBe(0);
  expect(client.sessionId).toBeUndefined();
});

test('C-1: a session that the server forgot is replaced by a new one with another id', async () => {
  const server = await startSessionServer();
  const { client } = clientOf({ url: server.url }, { sessionId: 'long gone' });
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['hold']);
  await soon(() => client.sessionId).toEqual(expect.any(String));
  expect(client.sessionId).not.toBe('long gone');
});

import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { owned } from '../../support/owned.ts';
import { clientOf, errorOf, messagesOf, next, soon } from './clients.ts';
import { ALL, requestsTo, WITH_TASKS } from './servers.ts';

const FOREVER = 600_000;

test.each(ALL)('C-1: aborting the signal cancels the call on the server ($tasks, $era, $door)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf(server.config);
  const cancel = new AbortController();
  const ended = errorOf(
    client.callTool('slow', { ms: FOREVER, steps: 1, text: 'me' }, {}, {}, { signal: cancel.signal }),
  );
  await client.callTool('echo', { text: 'the server has the call before this' });
  // Over HTTP each call may have a connection of its own, and one may overtake the other.
  if ('called' in server) await soon(server.called).toContain('slow');
  cancel.abort();
  expect(await ended).toMatchObject({ kind: 'cancelled' });
  expect(of('toolCallResultChange').at(-1)).toMatchObject({ toolName: 'slow', result: null, success: false });
  if ('called' in server) await soon(server.cancelled).toEqual(['slow:me']);
});

test('C-1: a call that is cancelled before it was sent does not continue on the server', async () => {
  const { url, state } = owned(await startV1Http());
  for (let n = 1; n <= 5; n += 1) {
    const { client } = clientOf({ url });
    const cancel = new AbortController();
    const args = { ms: FOREVER, steps: 1, text: String(n) };
    const ended = errorOf(client.callTool('slow', args, {}, {}, { signal: cancel.signal }));
    // Takes the connection that is open already; the other call has to wait for one.
    await client.callTool('echo', { text: 'first' });
    cancel.abort();
    expect(await ended).toMatchObject({ kind: 'cancelled' });
    await client.callTool('echo', { text: 'last' });
  }
  const running = (): number => state.calls.filter(({ tool }) => tool === 'slow').length - state.cancelled.length;
  await soon(running).toBe(0);
});

test.each(WITH_TASKS)('C-1: aborting the signal cancels the task by its id ($tasks, $door)', async ({ start }) => {
  const server = await start();
  const { client, of } = clientOf(server.config);
  const cancel = new AbortController();
  const stream = client.callToolStream('slow', { ms: FOREVER, text: 'me' }, {}, {}, { signal: cancel.signal });
  const other = client.callToolStream('slow', { ms: 300, text: 'not me' });
  await soon(() => of('taskCreated').length).toBe(2);
  cancel.abort();
  const error = await errorOf(stream);
  expect(error).toMatchObject({ kind: 'cancelled' });
  await expect(messagesOf(stream)).rejects.toBe(error);
  expect(await server.cancelled()).toEqual(['slow:me']);
  const cancels = await requestsTo(server, 'tasks/cancel');
  const [{ taskId } = { taskId: undefined }] = of('taskCancelled');
  expect(cancels.map(({ params }) => params)).toMatchObject([{ taskId }]);
  expect(of('taskCancelled')).toHaveLength(1);
  expect(of('taskFailed')).toEqual([]);
  expect(await other).toMatchObject({ success: true });
});

const HELD = [
  { tasks: '2025-11-25', start: async () => owned(await startTasksV1Http()) },
  { tasks: '2026-07-28', start: async () => owned(await startTasksV2Http()) },
];

test.each(HELD)('C-1: a signal that is already aborted starts no call ($tasks)', async ({ start }) => {
  const { url, state } = await start();
  const { client } = clientOf({ url });
  for (const name of ['hold', 'echo']) {
    const call = client.callToolStream(name, { text: 'x' }, {}, {}, { signal: AbortSignal.abort() });
    expect(await errorOf(call)).toMatchObject({ kind: 'cancelled' });
  }
  await client.ping();
  expect(requestsOf(state, 'tools/call')).toEqual([]);
});

test.each(HELD)('C-1: disconnecting right after a cancel still cancels the task ($tasks)', async ({ start }) => {
  const { url, state } = await start();
  const { client, of } = clientOf({ url });
  const cancel = new AbortController();
  const ended = errorOf(client.callToolStream('hold', { text: 'me' }, {}, {}, { signal: cancel.signal }));
  await next(() => of('taskCreated'));
  cancel.abort();
  await client.disconnect();
  expect(await ended).toMatchObject({ kind: 'cancelled' });
  expect(state.cancelled).toEqual(['hold:me']);
});

test.each(HELD)('C-1: leaving the loop over a call does not cancel it ($tasks)', async ({ start }) => {
  const { url, state } = await start();
  const { client } = clientOf({ url });
  const stream = client.callToolStream('hold', { text: 'kept' });
  for await (const { type } of stream) {
    expect(type).toBe('taskCreated');
    break;
  }
  state.release();
  expect(await stream).toMatchObject({ success: true });
  expect(state.cancelled).toEqual([]);
});

import { describe, expect, test, vi } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { begin, beginAsking, beginNative, kill, killable, restart, stateOf, stored } from './killable.ts';

const START = { core: startTasksV1Http, ext: startTasksV2Http };

describe('B-3, P-2: native tasks', () => {
  test.each(['core', 'ext'] as const)(
    'B-3, P-2: are followed after a restart and complete with the result of the server: %s',
    async (kind) => {
      const server = owned(await START[kind]());
      const gateway = await killable({ far: { url: server.url } });
      const session = await rawSession(gateway.url);
      const { id } = await beginNative(gateway, session, 'far', 'hold', { text: 'the truth' });
      await restart(gateway);
      expect(await stateOf(session, id)).toMatchObject({ status: 'working' });
      server.state.release();
      expect((await session.reply('get_task_result', { task_id: id })).text).toBe('the truth');
      expect(requestsOf(server.state, 'tools/call')).toHaveLength(1);
      expect(server.state.cancelled).toEqual([]);
    },
  );

  test.each(['core', 'ext'] as const)(
    'B-3, P-2: complete although they ended while the gateway was down: %s',
    async (kind) => {
      const server = owned(await START[kind]());
      const gateway = await killable({ far: { url: server.url } });
      const session = await rawSession(gateway.url);
      const { id } = await beginNative(gateway, session, 'far', 'hold', { text: 'meanwhile' });
      await kill(gateway);
      server.state.release();
      await gateway.start();
      // Nobody has to ask: the session of a task that goes on is woken by the start itself.
      await vi.waitFor(() => expect(gateway.log.some((line) => line.includes('"task_completed"'))).toBe(true), 10_000);
      expect((await session.reply('get_task_result', { task_id: id, timeout_ms: 0 })).text).toBe('meanwhile');
    },
  );

  test.each(['core', 'ext'] as const)(
    'B-3, P-2: complete although their server returns later than the gateway: %s',
    async (kind) => {
      const first = owned(await START[kind]());
      const reconnect = { firstMs: 50, maxMs: 200 };
      const gateway = await killable({ far: { url: first.url } }, { servers: { reconnect } });
      const session = await rawSession(gateway.url);
      const { id } = await beginNative(gateway, session, 'far', 'hold', { text: 'late' });
      await kill(gateway);
      await first.stop();
      await gateway.start();
      expect(await stateOf(session, id)).toMatchObject({ status: 'working' });
      const { port, state } = first;
      owned(
        kind === 'core'
          ? await startTasksV1Http({ port, state } as never)
          : await startTasksV2Http({ port, state } as never),
      );
      state.release();
      expect((await session.reply('get_task_result', { task_id: id, timeout_ms: 10_000 })).text).toBe('late');
    },
  );

  test('B-3: no request id is used twice in a session with a server that survives a restart', async () => {
    const server = owned(await startTasksV1Http());
    const gateway = await killable({ core: { url: server.url } });
    const session = await rawSession(gateway.url);
    const { id } = await beginNative(gateway, session, 'core', 'hold');
    await restart(gateway);
    server.state.release();
    expect((await session.reply('get_task_result', { task_id: id })).text).toBe('released');
    const requests = server.state.received.flatMap(({ message }) =>
      message.method && message.id !== undefined ? [message] : [],
    );
    // Once to begin the session; once, in another, to hear again what the server says of itself.
    expect(requests.filter(({ method }) => method === 'initialize')).toHaveLength(2);
    const ids = requests.filter(({ method }) => method !== 'initialize').map((request) => request.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('B-3, P-2: a native task that the server forgot fails with that reason', async () => {
    const server = owned(await startTasksV2Http());
    const gateway = await killable({ far: { url: server.url } });
    const session = await rawSession(gateway.url);
    const { id } = await beginNative(gateway, session, 'far', 'hold');
    await kill(gateway);
    server.state.forget();
    await gateway.start();
    await vi.waitFor(async () => expect(await stateOf(session, id)).toMatchObject({ status: 'failed' }), 10_000);
    expect((await stateOf(session, id)).error?.message).toContain('no longer knows its task');
  });

  test.each(['core', 'ext'] as const)('H-6, P-2: can be cancelled after the restart: %s', async (kind) => {
    const server = owned(await START[kind]());
    const gateway = await killable({ far: { url: server.url } });
    const session = await rawSession(gateway.url);
    const { id } = await beginNative(gateway, session, 'far', 'slow', { ms: 60_000, text: 'long' });
    await restart(gateway);
    expect((await session.reply('cancel_task', { task_id: id })).body).toMatchObject({ success: true });
    await vi.waitFor(() => expect(server.state.cancelled).toEqual(['slow:long']), 10_000);
    await restart(gateway);
    expect(await stateOf(session, id)).toMatchObject({ status: 'cancelled' });
  });
});

test('P-2: a call that was open at a restart fails with the reason, and one event reports it', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ plain: { url: server.url } });
  const session = await rawSession(gateway.url);
  const { id } = await begin(session, 'plain', 'slow', { ms: 60_000 });
  await restart(gateway);
  const { events, body } = await session.reply('get_task', { task_id: id });
  expect(body['task']).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('gateway restarted') },
  });
  const ends = events.filter(({ type }) => type === 'task_failed');
  expect(ends).toMatchObject([{ data: { taskId: id, error: expect.stringContaining('gateway restarted') } }]);
  const result = await session.reply('get_task_result', { task_id: id });
  expect(result).toMatchObject({ isError: true, text: expect.stringContaining('gateway restarted') });
  await restart(gateway);
  const again = await session.reply('get_task', { task_id: id });
  expect(again.body['task']).toMatchObject({ status: 'failed' });
  expect(again.events.filter(({ type }) => type === 'task_failed')).toEqual([]);
  expect(server.state.calls).toHaveLength(1);
});

describe('T-2, P-1: stored deadlines', () => {
  test('T-2, P-1, P-2: a restart does not prolong the time for which a result can be read', async () => {
    const server = owned(await startV1Http());
    const keepMs = 60_000;
    const passedMs = keepMs - 3000;
    const gateway = await killable({ plain: { url: server.url } }, { tasks: { keepMs, cleanupMs: 50 } });
    const session = await rawSession(gateway.url);
    const { id } = await begin(session, 'plain', 'slow', { ms: 400, text: 'kept' });
    expect((await session.reply('get_task_result', { task_id: id })).text).toBe('kept');
    const ended = Date.now();
    await restart(gateway, passedMs);
    expect((await session.reply('get_task_result', { task_id: id })).text).toBe('kept');
    await expect
      .poll(async () => (await session.reply('get_task', { task_id: id })).code)
      .toBe('TOOL_ERR_TASK_NOT_FOUND');
    const kept = Date.now() + passedMs - ended;
    expect(kept).toBeGreaterThan(keepMs - 1000);
    expect(kept).toBeLessThan(keepMs + 2000);
  });

  test('T-2, P-1: a result whose time ran out during the downtime is removed at once', async () => {
    const server = owned(await startV1Http());
    const tasks = { keepMs: 60_000, cleanupMs: 600_000 };
    const gateway = await killable({ plain: { url: server.url } }, { tasks });
    const session = await rawSession(gateway.url);
    const { id } = await begin(session, 'plain', 'slow', { ms: 400 });
    await session.reply('get_task_result', { task_id: id });
    await restart(gateway, tasks.keepMs);
    expect((await session.reply('get_task', { task_id: id })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  });

  test('T-2, P-2: a task whose TTL ran out during the downtime expires once, and its call is cancelled', async () => {
    const server = owned(await startTasksV2Http());
    const gateway = await killable({ ext: { url: server.url } });
    const session = await rawSession(gateway.url);
    const { id } = await beginNative(
      gateway,
      session,
      'ext',
      'slow',
      { ms: 600_000, text: 'long' },
      { task_ttl_ms: 60_000 },
    );
    await restart(gateway, 60_000);
    await vi.waitFor(async () => expect(await stateOf(session, id)).toMatchObject({ status: 'expired' }), 10_000);
    await vi.waitFor(() => expect(server.state.cancelled).toEqual(['slow:long']), 10_000);
  });

  test('T-2, P-2: the rest of a TTL continues after a restart', async () => {
    const server = owned(await startTasksV2Http());
    const gateway = await killable({ ext: { url: server.url } });
    const session = await rawSession(gateway.url);
    const task_ttl_ms = 5000;
    const { id } = await beginNative(gateway, session, 'ext', 'hold', {}, { task_ttl_ms });
    const deadline = stored(gateway, 'tasks', id)?.['deadline'];
    expect(deadline).toBeTypeOf('number');
    await restart(gateway);
    expect(await stateOf(session, id)).toMatchObject({ status: 'working' });
    expect(stored(gateway, 'tasks', id)).toMatchObject({ deadline });
    await session.reply('get_task_result', { task_id: id });
    expect(await stateOf(session, id)).toMatchObject({ status: 'expired' });
  });

  test('T-3, P-2: the TTL pauses while a question is open, also during the downtime', async () => {
    const server = owned(await startTasksV2Http());
    const gateway = await killable({ ext: { url: server.url } });
    const session = await rawSession(gateway.url);
    const { id, reply } = await beginAsking(session, 'ext', 'ask', {}, { task_ttl_ms: 60_000 });
    await restart(gateway, 90_000);
    expect(await stateOf(session, id)).toMatchObject({ status: 'working' });
    const request_id = reply.elicitations[0]?.requestId;
    await session.reply('respond_to_elicitation', { request_id, action: 'accept', content: { name: 'Ada' } });
    expect((await session.reply('get_task_result', { task_id: id })).text).toBe('Hello Ada');
  });
});

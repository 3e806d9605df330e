import { describe, expect, test, vi } from 'vitest';
import type { KillableGateway } from '../../crash/gateway.ts';
import { startTasksV2Http, type TasksV2Http } from '../../servers/tasks-v2-http.ts';
import type { SettingsInput } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import {
  errorOf,
  modernCall,
  modernHeaders,
  post,
  rawSession,
  replyOf,
  send,
  toolCall,
} from '../../support/raw-http.ts';
import { begin, beginNative, killable, restart, rows, stored } from './killable.ts';

const TOKENS = { alice: 'the-token-of-alice', bob: 'the-token-of-bob-2' };
const as = (who: keyof typeof TOKENS) => ({ authorization: `Bearer ${TOKENS[who]}` });

const taskIds = (body: Json): unknown[] => (body['tasks'] as Json[]).map(({ task_id }) => task_id);

async function modern(gateway: KillableGateway, who: keyof typeof TOKENS, tool: string, args: Json = {}) {
  return replyOf(await post(gateway.url, modernCall(tool, args), { ...modernHeaders(tool), ...as(who) }));
}

async function setup(settings: SettingsInput = {}): Promise<{ server: TasksV2Http; gateway: KillableGateway }> {
  const server = owned(await startTasksV2Http());
  return { server, gateway: await killable({ ext: { url: server.url } }, settings) };
}

test.each(['v1', 'v2'] as const)(
  'P-2, S-1: after kill -9 a client of the %s SDK continues its session',
  async (kind) => {
    const { server, gateway } = await setup();
    const hub = await hubOverHttp(gateway.url, kind);
    const id = taskIdOf(
      await hub.call('execute_tool', { server: 'ext', tool: 'hold', args: { text: 'kept' }, timeout_ms: 50 }),
    );
    const sessionId = hub.sessionId();
    await vi.waitFor(() => expect(stored(gateway, 'tasks', id)).toHaveProperty('checkpoint'), { timeout: 10_000 });
    await restart(gateway);
    server.state.release();
    expect((await hub.call('get_task_result', { task_id: id })).text).toBe('kept');
    expect(hub.sessionId()).toBe(sessionId);
    expect(gateway.log.filter((line) => line.includes('"session_created"'))).toHaveLength(1);
    expect(gateway.log.filter((line) => line.includes('"session_restored"'))).toHaveLength(1);
  },
);

test('P-2, S-1: a session without tasks survives a restart, and connects to servers on first use', async () => {
  const { gateway } = await setup();
  const session = await rawSession(gateway.url);
  await restart(gateway);
  const { text } = await session.reply('execute_tool', { server: 'ext', tool: 'echo', args: { text: 'here' } });
  expect(text).toBe('here');
});

test.each(['v1', 'v2'] as const)(
  'P-2, E-5: a waiting client of the %s SDK gets an error after the restart',
  async (kind) => {
    const { gateway } = await setup();
    let streams = 0;
    const hub = await hubOverHttp(gateway.url, kind, {}, 'test', async (...request) => {
      const response = await fetch(...request);
      const isStream = response.headers.get('content-type') === 'text/event-stream';
      if (request[1]?.method === 'POST' && isStream) streams += 1;
      return response;
    });
    await hub.call('list_tools');
    const before = streams;
    const waiting = hub.call('await_activity', { timeout_ms: 60_000 });
    waiting.catch(() => {});
    // Which its client goes on with.
    await expect.poll(() => streams).toBe(before + 1);
    // By the next reply the client has read the event from which it goes on.
    await hub.call('list_tools');
    await restart(gateway);
    await expect(waiting).rejects.toThrow(/gateway restarted/);
    expect((await hub.call('list_tasks')).isError).toBe(false);
  },
);

describe('S-1, X-2: owner of a session', () => {
  test('S-1, X-2: only its principal can restore a session of an earlier run', async () => {
    const { gateway } = await setup({ auth: { tokens: TOKENS } });
    const alice = await rawSession(gateway.url, as('alice'));
    const { id } = await begin(alice, 'ext', 'required', { text: 'for alice' }, { timeout_ms: 0 });
    await vi.waitFor(
      async () => expect((await alice.reply('get_task_result', { task_id: id })).text).toBe('for alice'),
      10_000,
    );
    await restart(gateway);
    const asBob = { ...alice.headers, ...as('bob') };
    // Asleep, and then awake: it is never his.
    for (const when of ['asleep', 'awake']) {
      const refused = await post(gateway.url, toolCall('list_tasks', { include_completed: true }), asBob);
      expect(refused.status, when).toBe(404);
      expect(errorOf(refused).data).toMatchObject({ code: 'TOOL_ERR_SESSION_NOT_FOUND' });
      expect((await send(gateway.url, { method: 'DELETE', headers: asBob })).status, when).toBe(404);
      const { body } = await alice.reply('list_tasks', { include_completed: true });
      expect(taskIds(body), when).toEqual([id]);
    }
  });

  test('S-1, S-5: a client without sessions finds only its own tasks after a restart', async () => {
    const { gateway } = await setup({ auth: { tokens: TOKENS } });
    const started = await modern(gateway, 'alice', 'execute_tool', { server: 'ext', tool: 'hold', timeout_ms: 50 });
    await restart(gateway);
    const bobs = await modern(gateway, 'bob', 'list_tasks', { include_completed: true });
    expect(taskIds(bobs.body)).toEqual([]);
    const alices = await modern(gateway, 'alice', 'list_tasks', { include_completed: true });
    expect(taskIds(alices.body)).toEqual([taskIdOf(started)]);
    // Such a session cannot be named by a client that has one.
    const bob = await rawSession(gateway.url, as('bob'));
    for (const name of ['alice', 'bob']) {
      const headers = { ...bob.headers, 'mcp-session-id': `hub:program=raw:${name}` };
      expect((await post(gateway.url, toolCall('list_tasks'), headers)).status).toBe(404);
    }
  });
});

describe('S-4: end of a session', () => {
  test('S-4, P-3: a session that its client deleted stays deleted after a restart', async () => {
    const gateway = await killable({});
    const session = await rawSession(gateway.url);
    expect((await send(gateway.url, { method: 'DELETE', headers: session.headers })).status).toBe(200);
    await restart(gateway);
    expect((await post(gateway.url, toolCall('list_tasks'), session.headers)).status).toBe(404);
  });

  test('S-4, T-2: an idle session is deleted after a restart, unless it has a working task', async () => {
    const { server, gateway } = await setup({ sessions: { idleMs: 1500, checkMs: 100 } });
    const idle = await rawSession(gateway.url);
    const busy = await rawSession(gateway.url);
    const { id } = await beginNative(gateway, busy, 'ext', 'hold', { text: 'at last' });
    await restart(gateway);
    await vi.waitFor(() => expect(storedSessions(gateway)).toEqual([busy.id]), { timeout: 10_000 });
    expect((await post(gateway.url, toolCall('list_tasks'), idle.headers)).status).toBe(404);
    server.state.release();
    expect((await busy.reply('get_task_result', { task_id: id })).text).toBe('at last');
  });
});

function storedSessions({ store }: KillableGateway): unknown[] {
  return rows(store, 'sessions').map(({ id }) => id);
}

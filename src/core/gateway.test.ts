import { describe, expect, test } from 'vitest';
import { type CoreOptions, directSession, hubSession, ONE, startCore, startTask } from '../../tests/support/core.ts';
import { turn } from '../../tests/support/turn.ts';
import { directView, HUB_VIEW } from './session/kind.ts';
import type { Session } from './session/session.ts';

const MINUTE = 60_000;
const FORM = { message: 'Which size?', requestedSchema: { type: 'object', properties: { size: { type: 'string' } } } };

/** Another run of the program on the same store. */
async function restart(before: Awaited<ReturnType<typeof startCore>>, options: CoreOptions = {}) {
  await before.stop();
  const { database, clock } = before;
  return startCore({ ...options, database, clock });
}

describe('idle sessions', () => {
  const settings = { sessions: { idleMs: 30 * MINUTE, checkMs: 5 * MINUTE } };

  test('S-4: end when their client has been away for the idle time, and are deleted from the store', async () => {
    const { gateway, clock, database } = await startCore({ settings });
    const idle = await hubSession(gateway);
    const active = await hubSession(gateway);
    clock.advance(20 * MINUTE);
    active.presence.touch();
    clock.advance(15 * MINUTE);
    await turn();
    expect(gateway.sessions).toEqual([active]);
    expect(idle.ended).toBe(true);
    expect([...database.sessions.keys()]).toEqual([active.id]);
  });

  test('S-4: stay while a task or a stream is open, and for the idle time after that', async () => {
    const { gateway, clock, backends } = await startCore({ settings });
    const session = await hubSession(gateway);
    await startTask(session);
    clock.advance(4 * MINUTE);
    expect(gateway.sessions).toEqual([session]);
    const release = session.presence.hold();
    backends.last.last.answer('done');
    await turn();
    clock.advance(120 * MINUTE);
    expect(gateway.sessions).toEqual([session]);
    release();
    clock.advance(29 * MINUTE);
    expect(gateway.sessions).toEqual([session]);
    clock.advance(10 * MINUTE);
    expect(gateway.sessions).toEqual([]);
  });

  test('S-4: end even with a question that came after the client left', async () => {
    const { gateway, clock, backends } = await startCore({ settings });
    const session = await hubSession(gateway);
    await session.connection('one').ready();
    clock.advance(MINUTE);
    void backends.last.ask(FORM).catch(() => {});
    clock.advance(40 * MINUTE);
    await turn();
    expect(gateway.sessions).toEqual([]);
  });

  test('S-4: of an earlier run end too, and their idle time counts from the start of this run', async () => {
    const first = await startCore({ settings });
    const { id } = await hubSession(first.gateway);
    first.clock.advance(MINUTE);
    const second = await restart(first, { settings });
    second.clock.advance(29 * MINUTE);
    await turn();
    expect([...second.database.sessions.keys()]).toEqual([id]);
    second.clock.advance(10 * MINUTE);
    await turn();
    expect(second.database.sessions.size).toBe(0);
    expect(await second.gateway.restore(id, 'local')).toBeUndefined();
  });
});

describe('after a restart', () => {
  test('P-2: only the principal of a session can restore it', async () => {
    const first = await startCore();
    const { id, key } = await hubSession(first.gateway);
    const second = await restart(first);
    expect(await second.gateway.restore(id, 'somebody else')).toBeUndefined();
    const [one, again] = await Promise.all([second.gateway.restore(id, 'local'), second.gateway.restore(id, 'local')]);
    expect(one).toBe(again);
    expect(one?.key).toBe(key);
  });

  test('P-2: native tasks continue at once, plain tasks fail, and events report both', async () => {
    const first = await startCore();
    const session = await hubSession(first.gateway);
    const plain = await startTask(session);
    const native = await startTask(session);
    await first.backends.last.last.keepAsTask();
    const second = await restart(first);
    await turn();
    // Without waiting for its client.
    const [live] = second.gateway.sessions;
    expect(live?.id).toBe(session.id);
    expect(second.backends.last.last.resumedFrom).toEqual({ version: 1, task: { taskId: 'native' } });
    second.backends.last.last.answer('after all');
    await turn();
    expect(live?.tasks.get(native)).toMatchObject({ status: 'completed' });
    expect(live?.tasks.get(plain)).toMatchObject({ status: 'failed' });
    expect(live?.events.take().events.map(({ type }) => type)).toContain('task_completed');
  });

  test('P-2, B-3: subscriptions and log levels are set again on the server', async () => {
    const first = await startCore();
    const session = await hubSession(first.gateway);
    await session.subscribe('one', 'a:1');
    session.preferences.setLogLevel('one', 'warning');
    const second = await restart(first);
    await turn();
    expect(second.backends.last.about.traits.preferences).toEqual({ uris: ['a:1'], logLevel: 'warning' });
  });

  test('P-2: an open question of a native task waits until its server asks again', async () => {
    const first = await startCore();
    const session = await hubSession(first.gateway);
    const id = await startTask(session);
    await first.backends.last.last.keepAsTask();
    void first.backends.last.last.ask(FORM, { detached: true, key: 'size' }).catch(() => {});
    await turn();
    const [question] = session.interactions.list('elicitation');
    const second = await restart(first);
    await turn();
    const [live] = second.gateway.sessions;
    expect(live?.tasks.get(id).status).toBe('input_required');
    const answered = second.backends.last.last.ask(FORM, { detached: true, key: 'size' });
    await turn();
    expect(live?.interactions.list('elicitation').map((each) => each.id)).toEqual([question?.id]);
    const answer = { action: 'accept', content: { size: 'M' } };
    await live?.interactions.answer(question?.id ?? '', 'elicitation', answer);
    expect(await answered).toEqual(answer);
  });

  test('P-2: ended tasks past their retention are dropped at the start', async () => {
    const first = await startCore();
    const session = await hubSession(first.gateway);
    await startTask(session);
    first.backends.last.last.answer('done');
    await turn();
    first.clock.skip(3_600_000);
    const second = await restart(first);
    expect(second.database.rowsOf(session.id).task.size).toBe(0);
  });

  test('S-3: a task fails if the config no longer has its server', async () => {
    const first = await startCore();
    const session = await hubSession(first.gateway);
    const id = await startTask(session);
    await first.backends.last.last.keepAsTask();
    const second = await restart(first, { servers: {} });
    await turn();
    const [live] = second.gateway.sessions;
    expect(live?.tasks.get(id)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining("'one'") },
    });
  });
});

describe('questions of direct sessions', () => {
  test('D-7: are known to the hub until they are answered or their session ends', async () => {
    const { gateway, backends } = await startCore();
    const hub = await hubSession(gateway);
    const direct = await directSession(gateway, 'one');
    const ask = async (): Promise<void> => {
      await startTask(direct);
      void backends.last.ask(FORM).catch(() => {});
      await turn();
      expect(gateway.anyNativeQuestions(hub)).toBe(true);
    };
    expect(gateway.anyNativeQuestions(hub)).toBe(false);
    await ask();
    for (const { id } of direct.interactions.list('elicitation')) {
      await direct.interactions.answer(id, 'elicitation', { action: 'decline' });
    }
    expect(gateway.anyNativeQuestions(hub)).toBe(false);
    await ask();
    await gateway.end(direct, 'test');
    expect(gateway.anyNativeQuestions(hub)).toBe(false);
  });
});

describe('servers', () => {
  test('S-3: a server that cannot be reached is not added', async () => {
    const { gateway, backends } = await startCore();
    const caller = await hubSession(gateway);
    backends.unreachable = 'refused';
    const adding = gateway.servers.add(caller, 'two', { url: 'http://two.test/' });
    await expect(adding).rejects.toMatchObject({
      code: 'TOOL_ERR_SERVER_UNREACHABLE',
      message: "server 'two' could not be reached and was not added: refused",
      failure: 'refused',
    });
    expect(caller.servers.get('two')).toBeUndefined();
  });

  test('S-3: an added server is available in the other sessions of the principal, which get an event', async () => {
    const { gateway } = await startCore({ principals: ['ann', 'bob'] });
    const caller = await hubSession(gateway, 'ann');
    const other = await hubSession(gateway, 'ann');
    const stranger = await hubSession(gateway, 'bob');
    await gateway.servers.add(caller, 'two', { url: 'http://user:secret@two.test/' });
    expect(other.servers.get('two')).toBeDefined();
    expect(stranger.servers.get('two')).toBeUndefined();
    const { events } = other.events.take();
    expect(events).toMatchObject([{ type: 'server_added', data: { name: 'two', replaced: false } }]);
    expect(JSON.stringify(events)).not.toContain('secret');
    expect(stranger.events.take().events).toEqual([]);
  });

  test('S-3: adding the same server again changes nothing, and adding it with another config replaces it', async () => {
    const { gateway, backends } = await startCore();
    const caller = await hubSession(gateway);
    const other = await hubSession(gateway);
    await gateway.servers.add(caller, 'two', { url: 'http://two.test/' });
    await other.connection('two').ready();
    const before = backends.connections.length;
    await gateway.servers.add(caller, 'two', { url: 'http://two.test/' });
    expect(backends.connections).toHaveLength(before);
    other.events.take().settle(true);
    await gateway.servers.add(caller, 'two', { url: 'http://three.test/' });
    await turn();
    // Who used the old one is connected to the new one.
    expect(other.connections.find('two')?.status.state).toBe('connected');
    expect(backends.last.about.config).toEqual({ url: 'http://three.test/' });
    const replaced = other.events.take().events.filter(({ type }) => type === 'server_added');
    expect(replaced).toMatchObject([{ data: { replaced: true } }]);
  });

  test('S-3: removing a server fails its tasks and ends direct sessions of that server', async () => {
    const { gateway } = await startCore({ settings: { allowServerChanges: true } });
    const caller = await hubSession(gateway);
    const direct = await directSession(gateway);
    const id = await startTask(caller);
    await gateway.servers.remove(caller, 'one');
    expect(caller.tasks.get(id)).toMatchObject({ status: 'failed', error: { message: "server 'one' was removed" } });
    expect(direct.ended).toBe(true);
    const removed = caller.events.take().events.filter(({ type }) => type === 'server_removed');
    expect(removed).toMatchObject([{ data: { removedBy: 'this session' } }]);
  });

  test('S-3, X-3: servers that are added at the same time do not exceed the limit together', async () => {
    const { gateway, backends } = await startCore({ settings: { limits: { serversPerPrincipal: 1 } } });
    const caller = await hubSession(gateway);
    const added = await Promise.allSettled(
      ['two', 'three'].map((name) => gateway.servers.add(caller, name, { url: `http://${name}.test/` })),
    );
    expect(added.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(backends.connections.map(({ status }) => status.state).toSorted()).toEqual(['closed', 'connected']);
  });
});

describe('limits', () => {
  test('X-3: the number of sessions is limited, and an ended session frees a place', async () => {
    const { gateway } = await startCore({ settings: { sessions: { max: 1 } } });
    const session = await hubSession(gateway);
    await expect(hubSession(gateway)).rejects.toMatchObject({ code: 'TOOL_ERR_LIMIT' });
    await gateway.end(session, 'the client left');
    await hubSession(gateway);
  });

  test('S-4: a closing gateway opens and restores no sessions', async () => {
    const first = await startCore();
    const { id } = await hubSession(first.gateway);
    const { gateway } = await restart(first);
    const closing = gateway.close('the gateway is shutting down');
    await expect(hubSession(gateway)).rejects.toMatchObject({ code: 'TOOL_ERR_SHUTTING_DOWN' });
    await expect(gateway.restore(id, 'local')).rejects.toMatchObject({ code: 'TOOL_ERR_SHUTTING_DOWN' });
    await closing;
  });

  test('S-4: a closed gateway leaves no timers', async () => {
    const { gateway, clock } = await startCore();
    await startTask(await hubSession(gateway));
    expect(clock.armed).toBeGreaterThan(0);
    await gateway.close('the gateway is shutting down');
    expect(clock.armed).toBe(0);
  });
});

describe('clients without a session in the protocol', () => {
  const address = { principal: 'local', view: HUB_VIEW, name: 'ide' };

  test('S-5: have one state per program, principal and view', async () => {
    const { gateway } = await startCore({ servers: { one: ONE, two: ONE } });
    const [hub, again] = await Promise.all([gateway.stateOf(address), gateway.stateOf(address)]);
    expect(again).toBe(hub);
    expect(await gateway.stateOf(address)).toBe(hub);
    const others = await Promise.all([
      gateway.stateOf({ ...address, name: 'cli' }),
      gateway.stateOf({ ...address, principal: 'ann' }),
      gateway.stateOf({ ...address, view: directView('one') }),
      gateway.stateOf({ ...address, view: directView('two') }),
    ]);
    expect(new Set([hub, ...others]).size).toBe(5);
    expect(await gateway.otherStates(hub)).toEqual([others[0]]);
  });

  test('S-5: get the same state from concurrent requests', async () => {
    const { gateway } = await startCore();
    const found: Promise<Session>[] = [];
    for (let n = 0; n < 50; n += 1) {
      found.push(Promise.resolve(gateway.stateOf(address)));
      await Promise.resolve();
    }
    expect(new Set(await Promise.all(found)).size).toBe(1);
    expect(gateway.sessions).toHaveLength(1);
  });

  test('S-5: get their state while it is restored concurrently', async () => {
    const { gateway } = await startCore();
    const { id } = await gateway.stateOf(address);
    for (let later = 0; later < 30; later += 1) {
      await gateway.end(await gateway.stateOf(address), 'the client ended the session');
      const opening = gateway.stateOf(address);
      for (let n = 0; n < later; n += 1) await Promise.resolve();
      const [state] = await Promise.all([opening, gateway.restore(id, 'local')]);
      expect(gateway.sessions).toEqual([state]);
    }
  });

  test('S-5, P-2: find their state again after a restart', async () => {
    const first = await startCore();
    const before = await first.gateway.stateOf(address);
    const { gateway } = await restart(first);
    const after = await gateway.stateOf(address);
    expect(after.id).toBe(before.id);
    expect(after.key).toBe(before.key);
  });

  test('S-5, H-12: an unreadable state is reported as an error of the store', async () => {
    const { gateway } = await startCore();
    const state = await gateway.stateOf(address);
    let nested: unknown = [];
    for (let depth = 0; depth < 100_000; depth += 1) nested = [nested];
    state.tasks.create({ server: 'one', tool: 'work', args: { nested } });
    await expect(gateway.otherStates(state)).rejects.toMatchObject({ code: 'TOOL_ERR_STORE' });
    expect(await gateway.otherStates(state)).toEqual([]);
  });

  test('S-5: the gateway knows the state that was used last', async () => {
    const { gateway, clock } = await startCore();
    const ide = await gateway.stateOf(address);
    clock.advance(1);
    const cli = await gateway.stateOf({ ...address, name: 'cli' });
    expect(gateway.latestState('local', HUB_VIEW)).toBe(cli);
    clock.advance(1);
    ide.presence.touch();
    expect(gateway.latestState('local', HUB_VIEW)).toBe(ide);
  });
});

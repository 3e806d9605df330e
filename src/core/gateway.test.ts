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

  test('S-4: end once their client has been away for so long, and are gone from the store', async () => {
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

  test('S-4: do not end while something is open, and not right after it', async () => {
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

  test('S-4: a question that came after the client left does not keep its session', async () => {
    const { gateway, clock, backends } = await startCore({ settings });
    const session = await hubSession(gateway);
    await session.connection('one').ready();
    clock.advance(MINUTE);
    void backends.last.ask(FORM).catch(() => {});
    clock.advance(40 * MINUTE);
    await turn();
    expect(gateway.sessions).toEqual([]);
  });

  test('S-4: those of an earlier run end too, counted from the start of this one', async () => {
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
  test('P-2: only the client of a session finds it again', async () => {
    const first = await startCore();
    const { id, key } = await hubSession(first.gateway);
    const second = await restart(first);
    expect(await second.gateway.restore(id, 'somebody else')).toBeUndefined();
    const [one, again] = await Promise.all([second.gateway.restore(id, 'local'), second.gateway.restore(id, 'local')]);
    expect(one).toBe(again);
    expect(one?.key).toBe(key);
  });

  test('P-2: native tasks go on at once, plain ones have failed, and both are told', async () => {
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

  test('P-2, B-3: subscriptions and log levels are asked for again', async () => {
    const first = await startCore();
    const session = await hubSession(first.gateway);
    await session.subscribe('one', 'a:1');
    session.preferences.setLogLevel('one', 'warning');
    const second = await restart(first);
    await turn();
    expect(second.backends.last.about.traits.preferences).toEqual({ uris: ['a:1'], logLevel: 'warning' });
  });

  test('P-2: an open question of a native task waits for its server to ask again', async () => {
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

  test('P-2: ended tasks that need not be kept any longer are dropped at the start', async () => {
    const first = await startCore();
    const session = await hubSession(first.gateway);
    await startTask(session);
    first.backends.last.last.answer('done');
    await turn();
    first.clock.skip(3_600_000);
    const second = await restart(first);
    expect(second.database.rowsOf(session.id).task.size).toBe(0);
  });

  test('S-3: a task of a server that is gone from the config has failed', async () => {
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
  test('D-7: the hub knows whether there are any, until they are answered or their session has ended', async () => {
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
  test('S-3: one that cannot be reached is not added', async () => {
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

  test('S-3: one that is added is there for the other sessions of the principal, which are told', async () => {
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

  test('S-3: one that is added again as it is changes nothing; added differently, it replaces the other for all', async () => {
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

  test('S-3: one that is removed ends what runs there, and the sessions of clients that see only it', async () => {
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

  test('S-3, X-3: those that are tried at the same time do not exceed the limit together', async () => {
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
  test('X-3: there are so many sessions, and one that ended makes room', async () => {
    const { gateway } = await startCore({ settings: { sessions: { max: 1 } } });
    const session = await hubSession(gateway);
    await expect(hubSession(gateway)).rejects.toMatchObject({ code: 'TOOL_ERR_LIMIT' });
    await gateway.end(session, 'the client left');
    await hubSession(gateway);
  });

  test('S-4: a gateway that closes opens and restores nothing', async () => {
    const first = await startCore();
    const { id } = await hubSession(first.gateway);
    const { gateway } = await restart(first);
    const closing = gateway.close('the gateway is shutting down');
    await expect(hubSession(gateway)).rejects.toMatchObject({ code: 'TOOL_ERR_SHUTTING_DOWN' });
    await expect(gateway.restore(id, 'local')).rejects.toMatchObject({ code: 'TOOL_ERR_SHUTTING_DOWN' });
    await closing;
  });

  test('S-4: no timer is left when it has closed', async () => {
    const { gateway, clock } = await startCore();
    await startTask(await hubSession(gateway));
    expect(clock.armed).toBeGreaterThan(0);
    await gateway.close('the gateway is shutting down');
    expect(clock.armed).toBe(0);
  });
});

describe('clients without a session in the protocol', () => {
  const address = { principal: 'local', view: HUB_VIEW, name: 'ide' };

  test('S-5: have one state for each program, at the hub and at each server', async () => {
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

  test('S-5: requests that come at any moment while the state is opened get the same one', async () => {
    const { gateway } = await startCore();
    const found: Promise<Session>[] = [];
    for (let n = 0; n < 50; n += 1) {
      found.push(Promise.resolve(gateway.stateOf(address)));
      await Promise.resolve();
    }
    expect(new Set(await Promise.all(found)).size).toBe(1);
    expect(gateway.sessions).toHaveLength(1);
  });

  test('S-5: their state is opened also while another one looks for it', async () => {
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

  test('S-5, H-12: that other states cannot be read is an error of the store', async () => {
    const { gateway } = await startCore();
    const state = await gateway.stateOf(address);
    let nested: unknown = [];
    for (let depth = 0; depth < 100_000; depth += 1) nested = [nested];
    state.tasks.create({ server: 'one', tool: 'work', args: { nested } });
    await expect(gateway.otherStates(state)).rejects.toMatchObject({ code: 'TOOL_ERR_STORE' });
    expect(await gateway.otherStates(state)).toEqual([]);
  });

  test('S-5: the state that was used last is known', async () => {
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

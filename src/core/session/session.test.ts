import { describe, expect, test } from 'vitest';
import {
  type Core,
  type CoreOptions,
  directSession,
  hubSession,
  ONE,
  startCore,
  startTask,
} from '../../../tests/support/core.ts';
import { SCRIPTED_INFO } from '../../../tests/support/scripted-connection.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { Session } from './session.ts';

const FORM = { message: 'Which size?', requestedSchema: { type: 'object', properties: { size: { type: 'string' } } } };

async function hub(options: CoreOptions = {}): Promise<Core & { session: Session }> {
  const core = await startCore(options);
  return { ...core, session: await hubSession(core.gateway) };
}

const told = ({ events }: Session): string[] => events.take().events.map(({ type }) => type);

describe('connections', () => {
  test('S-2: are opened once, on first use', async () => {
    const { session, backends } = await hub();
    expect(backends.connections).toEqual([]);
    expect(session.connections.find('one')).toBeUndefined();
    await Promise.all([session.connection('one').ready(), session.connection('one').ready()]);
    expect(backends.connections).toHaveLength(1);
    expect(backends.last.attempts).toBe(1);
    expect(() => session.connection('none')).toThrow("no server 'none'; known: one");
  });

  test.each([
    ['eager', 'lazy', ['http://one.test/']],
    ['lazy', 'eager', ['two']],
    ['lazy', 'lazy', []],
  ])('S-2: of URLs (%s) and of commands (%s) are opened at once if they are eager', async (urls, commands, made) => {
    const servers = { one: ONE, two: { command: 'two' } };
    const { backends } = await hub({ servers, settings: { servers: { connect: { urls, commands } } } });
    await turn();
    const of = (config: object): unknown => ('url' in config ? config.url : 'command' in config && config.command);
    expect(backends.connections.map(({ about }) => of(about.config))).toEqual(made);
  });

  test('S-2: that fail in the background are logged and block no request', async () => {
    const { session, backends, logged } = await hub();
    backends.unreachable = 'refused';
    session.connectInBackground('one');
    session.connectInBackground('none');
    await turn();
    expect(logged.filter((event) => event === 'session_server_connect_failed')).toHaveLength(2);
  });

  test('B-3: that are lost fail their plain tasks and questions, and events report the loss and the return', async () => {
    const { session, backends } = await hub();
    const id = await startTask(session);
    const { last: server } = backends;
    const answered = server.ask(FORM).catch((error: Error) => error.message);
    told(session);
    server.lose('it crashed');
    expect(session.tasks.get(id)).toMatchObject({
      status: 'failed',
      error: { message: "server 'one' disconnected: it crashed" },
    });
    expect(await answered).toContain('it crashed');
    expect(told(session)).toContain('server_disconnected');
    server.comeBack('restart');
    await turn();
    const { events } = session.events.take();
    expect(events).toMatchObject([
      {
        type: 'server_reconnected',
        data: { type: 'restart', refreshedTools: true, invalidatedTasks: 1, invalidatedElicitations: 1 },
      },
    ]);
  });

  test('B-3: that are lost do not end native tasks and detached questions', async () => {
    const { session, backends } = await hub();
    const id = await startTask(session);
    await backends.last.last.keepAsTask();
    void backends.last.last.ask(FORM, { detached: true }).catch(() => {});
    backends.last.lose();
    expect(session.tasks.get(id).status).toBe('input_required');
    expect(session.interactions.list('elicitation')).toHaveLength(1);
  });

  test('S-3: to a server on trial are part of the session only after they are kept', async () => {
    const { session, backends } = await hub();
    const { info, tools, keep } = await session.connections.tryServer('two', { url: 'http://two.test/' });
    expect([info, tools]).toEqual([SCRIPTED_INFO, []]);
    expect(session.connections.find('two')).toBeUndefined();
    expect(told(session)).toEqual([]);
    // Nobody has added it.
    await keep();
    expect(backends.last.status.state).toBe('closed');
    expect(session.connections.find('two')).toBeUndefined();
  });

  test('S-3: to a server that does not list its tools are closed', async () => {
    const { session, backends } = await hub();
    backends.methods['tools/list'] = () => Promise.reject(new Error('no tools today'));
    await expect(session.connections.tryServer('two', { url: 'http://two.test/' })).rejects.toThrow('no tools today');
    expect(backends.last.status.state).toBe('closed');
  });

  test('S-3: to a removed server end with their calls, questions and preferences; a replaced server keeps preferences', async () => {
    const { session, backends } = await hub();
    await session.subscribe('one', 'a:1');
    const id = await startTask(session);
    const answered = backends.last.ask(FORM).catch((error: Error) => error.message);
    await turn();
    await session.detach('one', { reason: "server 'one' was replaced", replaced: true });
    expect(session.tasks.get(id)).toMatchObject({ status: 'failed', error: { message: "server 'one' was replaced" } });
    expect(await answered).toContain("server 'one' was replaced");
    expect(backends.last.status.state).toBe('closed');
    // The next connection subscribes again.
    session.connection('one');
    expect([...backends.last.subscribed]).toEqual(['a:1']);
    await session.detach('one', { reason: 'removed', replaced: false });
    session.connection('one');
    expect([...backends.last.subscribed]).toEqual([]);
  });
});

describe('limits', () => {
  test('X-3: the number of open requests of a session is limited', async () => {
    const { session } = await hub({ settings: { limits: { requestsPerSession: 2 } } });
    session.presence.beginRequest();
    session.presence.beginRequest();
    expect(() => session.presence.beginRequest()).toThrow('limits.requestsPerSession');
    session.presence.endRequest();
    session.presence.beginRequest();
    expect(() => session.presence.beginRequest()).toThrow('limits.requestsPerSession');
  });

  test('X-3: the number of subscriptions per server is limited, and repeated subscriptions do not count', async () => {
    const { session } = await hub({
      servers: { one: ONE, two: ONE },
      settings: { limits: { subscriptionsPerServer: 2 } },
    });
    await session.subscribe('one', 'a:1');
    await session.subscribe('one', 'a:2');
    await session.subscribe('one', 'a:2');
    await expect(session.subscribe('one', 'a:3')).rejects.toThrow('limits.subscriptionsPerServer');
    await session.subscribe('two', 'a:3');
    await session.unsubscribe('one', 'a:1');
    await session.subscribe('one', 'a:3');
  });

  test('X-3: large client capabilities are refused', async () => {
    const { gateway } = await startCore();
    const client = { protocolVersion: '2025-11-25', capabilities: { experimental: { text: 'x'.repeat(70_000) } } };
    await expect(directSession(gateway, 'one', client)).rejects.toThrow('capabilities of the client are larger');
  });

  test('X-3, E-3: the newest notifications and logs of a server are kept, up to a limit', async () => {
    const settings = { events: { notificationsPerServer: 2, logsPerServer: 2 } };
    const { session, backends, clock } = await hub({ settings });
    await session.connection('one').ready();
    for (const n of [1, 2, 3]) {
      backends.last.say('notifications/vendor', { n });
      backends.last.say('notifications/message', { level: 'info', data: n });
      clock.advance(1);
    }
    expect(session.connections.notifications('one').map(({ params }) => params['n'])).toEqual([2, 3]);
    expect(session.connections.logs().map(({ data }) => data)).toEqual([2, 3]);
    expect(session.connections.logs('one')[0]?.timestamp).toBe(clock.now() - 2);
  });
});

describe('a session', () => {
  test('S-4: is busy while requests or tasks of its client are open, but not because of later questions', async () => {
    const { session, backends, clock } = await hub();
    expect(session.busy).toBe(false);
    const release = session.presence.hold();
    expect(session.busy).toBe(true);
    release();
    expect(session.busy).toBe(false);
    const id = await startTask(session);
    expect(session.busy).toBe(true);
    session.calls.cancel(id, 'enough');
    await turn();
    expect(session.busy).toBe(false);
    void backends.last.ask(FORM).catch(() => {});
    expect(session.busy).toBe(true);
    clock.advance(1);
    session.presence.touch();
    expect(session.busy).toBe(true);
  });

  test('S-4: that has ended refuses work; one that the gateway stopped reports a shutdown', async () => {
    const { session, gateway } = await hub();
    const other = await hubSession(gateway);
    await session.close({ by: 'client', reason: 'over' });
    await other.close({ by: 'gateway', reason: 'stopping' });
    expect(() => session.connection('one')).toThrow(expect.objectContaining({ code: 'TOOL_ERR_SESSION_NOT_FOUND' }));
    expect(() => other.connection('one')).toThrow(expect.objectContaining({ code: 'TOOL_ERR_SHUTTING_DOWN' }));
    expect(() => session.presence.beginRequest()).toThrow('the session has ended');
  });

  test('S-4, B-3: that stops keeps the session of a server open if the server has a native task', async () => {
    const { session, backends } = await hub({ servers: { one: ONE, two: ONE } });
    await startTask(session);
    await backends.last.last.keepAsTask();
    await session.connection('two').ready();
    const [one, two] = backends.connections;
    await session.close({ by: 'gateway', reason: 'stopping' });
    expect([one?.closedWith, two?.closedWith]).toEqual([{ keepSession: true }, { keepSession: false }]);
  });

  test('S-1: frees its memory when it ends', async () => {
    const { session, gateway, backends } = await hub();
    await startTask(session);
    backends.last.say('notifications/vendor', { text: 'x'.repeat(1000) });
    expect(gateway.memoryOf('local').used).toBeGreaterThan(1000);
    await session.close({ by: 'client', reason: 'over' });
    expect(gateway.memoryOf('local').used).toBe(0);
  });
});

describe('roots', () => {
  const roots = (session: Session, backends: Core['backends']): Promise<unknown> => {
    void session.connection('one').ready();
    return backends.last.ask({}, { kind: 'roots' }).catch((error: Error) => error.message);
  };

  test('S-1: no server gets the roots of a client of the hub', async () => {
    const { session, backends } = await hub();
    expect(await roots(session, backends)).toEqual({ roots: [] });
    expect(backends.last.about.traits.roots).toBe(false);
  });

  test('D-5: the server of a direct session gets the roots if the client declared roots', async () => {
    const { gateway, backends } = await startCore();
    const silent = await directSession(gateway, 'one', { protocolVersion: '2025-11-25', capabilities: {} });
    expect(await roots(silent, backends)).toEqual({ roots: [] });
    const open = await directSession(gateway);
    void roots(open, backends);
    await turn();
    expect(backends.last.about.traits.roots).toBe(true);
    expect(open.interactions.size).toBe(1);
  });
});

describe('lists', () => {
  test('D-5: after a reconnect the client is told which of the lists it has read have changed', async () => {
    const { gateway, backends } = await startCore();
    backends.info = { ...SCRIPTED_INFO, capabilities: { tools: {}, prompts: {} } };
    backends.methods['prompts/list'] = () => ({ prompts: [] });
    const session = await directSession(gateway);
    const changed: string[] = [];
    session.connections.onListsChanged.add((kind) => changed.push(kind));
    await session.connection('one').ready();
    session.connections.readLists.record('tools/list', {}, { tools: [{ name: 'old' }] });
    session.connections.readLists.record('prompts/list', {}, { prompts: [] });
    backends.last.lose();
    backends.last.comeBack();
    await turn();
    expect(changed).toEqual(['tools']);
  });

  test('D-5: a server that does not list in time is not compared, and that is logged', async () => {
    const { gateway, backends, clock, logged } = await startCore({ settings: { calls: { timeoutMs: 1000 } } });
    const session = await directSession(gateway);
    await session.connection('one').ready();
    session.connections.readLists.record('tools/list', {}, { tools: [] });
    backends.methods['tools/list'] = () => new Promise(() => {});
    backends.last.comeBack();
    await turn();
    clock.advance(1000);
    await turn();
    expect(logged).toContain('lists_not_compared');
  });
});

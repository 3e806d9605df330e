import { describe, expect, test } from 'vitest';
import { soon } from '../../../tests/e2e/flows/watch.ts';
import { textOf } from '../../../tests/e2e/direct/answered.ts';
import { ERAS, clientAt, idsOf, toolsOf, watch, type Era } from '../../../tests/support/group-clients.ts';
import type { Json } from '../../../tests/support/hub.ts';
import { FULL, PlayedServer, scriptedGroup, tool, type ScriptedGroup } from '../../../tests/support/scripted-group.ts';
import type { TestClock } from '../../../tests/support/test-clock.ts';

const TIMEOUT_MS = 5000;
const CHANGED = 'notifications/tools/list_changed';

function having(...tools: string[]): PlayedServer {
  const played = new PlayedServer({ tools: tools.map((name) => tool(name)) });
  for (const name of tools) played.tools[name] = (call) => call.answer('done');
  return played;
}

/** Answers a method only so much later. */
function delay(server: PlayedServer, method: string, ms: number, clock: () => TestClock): void {
  const answer = server.methods[method];
  server.methods[method] = async (params, signal) => {
    await new Promise<void>((resolve) => {
      clock().after(ms, resolve);
    });
    return (await answer?.(params, signal)) ?? {};
  };
}

/** Something that does not happen before the test moves the time. */
async function after<T>(ms: number, group: ScriptedGroup, begun: () => boolean, promise: Promise<T>): Promise<T> {
  let ended = false;
  const watched = promise.finally(() => {
    ended = true;
  });
  watched.catch(() => {});
  await soon(begun).toBe(true);
  group.clock.advance(ms - 1);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(ended).toBe(false);
  group.clock.advance(1);
  return watched;
}

const asked = (server: PlayedServer, method: string): boolean =>
  server.connections.some(({ requests }) => requests.some((each) => each.method === method));

describe.each(ERAS)('M-3: the lists of a %s client', (era) => {
  test('are in the order of the servers, regardless of who answers first', async () => {
    let group: ScriptedGroup;
    const servers = { c: having('z', 'a'), a: having('m'), b: having('k') };
    delay(servers.c, 'tools/list', 200, () => group.clock);
    delay(servers.a, 'tools/list', 100, () => group.clock);
    group = await scriptedGroup(servers);
    const client = await clientAt(era, group.all);
    const listing = toolsOf(client);
    await soon(() => Object.values(servers).every((each) => asked(each, 'tools/list'))).toBe(true);
    group.clock.advance(100);
    group.clock.advance(100);
    expect(await listing).toEqual(['c__z', 'c__a', 'a__m', 'b__k']);
  });

  test('have pages, whose cursors stay valid while entries are added', async () => {
    const servers = { one: having(...Array.from({ length: 700 }, (_each, index) => `t${index}`)), two: having() };
    servers.two.lists.tools.push(...servers.one.lists.tools);
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const first = await client.request('tools/list');
    expect(first['tools']).toHaveLength(1000);
    servers.one.lists.tools.unshift(tool('new'));
    servers.one.tellChanged('tools');
    const second = await client.request('tools/list', { cursor: first['nextCursor'] });
    expect((second['tools'] as Json[]).map(({ name }) => name)).toEqual(
      Array.from({ length: 400 }, (_each, index) => `two__t${300 + index}`),
    );
    expect(second).not.toHaveProperty('nextCursor');
    expect(await client.error('tools/list', { cursor: 'nonsense' })).toMatchObject({
      code: -32602,
      message: expect.stringContaining("'nonsense'") as string,
    });
    expect(await client.error('tools/list', { cursor: 7 })).toMatchObject({ code: -32602 });
  });

  test('are reported as changed once when a server reports a change, and only that server is read again', async () => {
    const servers = { one: having('a'), two: having('b') };
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    expect(await toolsOf(client)).toEqual(['one__a', 'two__b']);
    expect(await toolsOf(client)).toEqual(['one__a', 'two__b']);
    expect(servers.one.asked['tools/list']).toBe(1);
    const stream = await watch(client);
    servers.two.lists.tools.push(tool('c'));
    servers.two.tellChanged('tools');
    await stream.heard(CHANGED);
    expect(await toolsOf(client)).toEqual(['one__a', 'two__b', 'two__c']);
    expect([servers.one.asked['tools/list'], servers.two.asked['tools/list']]).toEqual([1, 2]);
    servers.one.tellChanged('prompts');
    await stream.heard('notifications/prompts/list_changed');
    expect(stream.told(CHANGED)).toHaveLength(1);
  });

  test('are read again from a server without the listChanged capability', async () => {
    const one = having('a');
    one.info = { ...one.info, capabilities: { ...FULL, tools: {} } };
    const client = await clientAt(era, (await scriptedGroup({ one, two: having('b') })).all);
    expect(await toolsOf(client)).toEqual(['one__a', 'two__b']);
    one.lists.tools.push(tool('c'));
    expect(await toolsOf(client)).toEqual(['one__a', 'one__c', 'two__b']);
  });

  test('contain nothing of a server that lacks the capability', async () => {
    const one = having('a');
    one.info = { ...one.info, capabilities: {} };
    const client = await clientAt(era, (await scriptedGroup({ one, two: having('b') })).all);
    const listed = await client.request('tools/list');
    expect((listed['tools'] as Json[]).map(({ name }) => name)).toEqual(['two__b']);
    expect(JSON.stringify(listed)).not.toContain('meanwhile/missing');
    expect(await idsOf(client, 'prompts/list')).toEqual([]);
  });
});

test('M-3: the instructions have one section for each server that has instructions', async () => {
  const servers = { one: having(), two: having(), three: having() };
  servers.one.info = { ...servers.one.info, instructions: 'Use add.\n' };
  servers.three.info = { ...servers.three.info, instructions: 'Ask first.' };
  const { all } = await scriptedGroup(servers);
  const modern = await clientAt('modern', all);
  const { instructions } = await modern.request('server/discover');
  expect(instructions).toBe(
    'Several MCP servers as one. Tools and prompts are named <server>__<name>.\n\n## one\n\nUse add.\n\n## three\n\nAsk first.',
  );
});

test('M-4: server/discover is answered soon despite a slow server', async () => {
  const [slow, one] = [having('late'), having('a')];
  slow.gate = new Promise<void>(() => {});
  one.info = { ...one.info, instructions: 'Use add.' };
  const group = await scriptedGroup({ slow, one });
  const modern = await clientAt('modern', group.all);
  const begun = (): boolean => slow.connections.length > 0 && group.clock.armed > 2;
  const { instructions, capabilities } = await after(1000, group, begun, modern.request('server/discover'));
  expect(instructions).toContain('## one\n\nUse add.');
  expect(capabilities).toMatchObject({ extensions: { 'io.modelcontextprotocol/tasks': {} } });
  expect(await after(TIMEOUT_MS - 1000, group, () => asked(one, 'tools/list'), toolsOf(modern))).toEqual(['one__a']);
});

describe.each(ERAS)('M-4: a %s client', (era: Era) => {
  test('waits once for a server that does not answer initialize, and later requests do not wait', async () => {
    const slow = having('late');
    slow.gate = new Promise<void>(() => {});
    const group = await scriptedGroup({ slow, one: having('a') });
    const begun = (): boolean => slow.connections.length > 0 && group.clock.armed > 2;
    const opening = async (): Promise<{ client: Awaited<ReturnType<typeof clientAt>>; listed: Json }> => {
      const client = await clientAt(era, group.all);
      return { client, listed: await client.request('tools/list') };
    };
    const { client, listed } = await after(TIMEOUT_MS, group, begun, opening());
    expect((listed['tools'] as Json[]).map(({ name }) => name)).toEqual(['one__a']);
    expect(listed['_meta']).toMatchObject({
      'meanwhile/missing': { slow: expect.stringContaining('5000 ms') as string },
    });
    for (const method of ['prompts/list', 'resources/list', 'resources/templates/list'])
      expect(await idsOf(client, method)).toEqual([]);
    expect(await toolsOf(client)).toEqual(['one__a']);
    expect(textOf(await client.call('one__a'))).toBe('done');
  });

  test('waits once for a slow list, and is notified when the list has arrived', async () => {
    let group: ScriptedGroup;
    const slow = having('late');
    delay(slow, 'tools/list', 7000, () => group.clock);
    group = await scriptedGroup({ slow, one: having('a') });
    const client = await clientAt(era, group.all);
    const begun = (): boolean => asked(slow, 'tools/list');
    expect(await after(TIMEOUT_MS, group, begun, toolsOf(client))).toEqual(['one__a']);
    expect(await toolsOf(client)).toEqual(['one__a']);
    const stream = await watch(client);
    group.clock.advance(2000);
    await stream.heard(CHANGED);
    expect(await toolsOf(client)).toEqual(['slow__late', 'one__a']);
    expect(stream.told(CHANGED)).toHaveLength(1);
  });

  test('waits at most once for a list that is always slow', async () => {
    let group: ScriptedGroup;
    const slow = having('late');
    slow.info = { ...slow.info, capabilities: { ...FULL, tools: {} } };
    delay(slow, 'tools/list', 7000, () => group.clock);
    group = await scriptedGroup({ slow, one: having('a') });
    const client = await clientAt(era, group.all);
    await after(TIMEOUT_MS, group, () => asked(slow, 'tools/list'), toolsOf(client));
    const stream = await watch(client);
    group.clock.advance(2000);
    await stream.heard(CHANGED);
    slow.lists.tools.push(tool('later'));
    // It is asked again, and shown meanwhile as it was.
    expect(await toolsOf(client)).toEqual(['slow__late', 'one__a']);
    await soon(() => slow.last.requests.filter(({ method }) => method === 'tools/list').length).toBe(2);
    group.clock.advance(7000);
    await soon(() => stream.told(CHANGED).length).toBe(2);
    expect(await toolsOf(client)).toEqual(['slow__late', 'slow__later', 'one__a']);
  });

  test('waits for the servers in parallel', async () => {
    let group: ScriptedGroup;
    const names = ['a', 'b', 'c', 'd'];
    const servers = Object.fromEntries(names.map((name) => [name, having('tool')]));
    for (const [index, server] of Object.values(servers).entries())
      delay(server, 'tools/list', 1000 * (index + 1), () => group.clock);
    group = await scriptedGroup(servers);
    const client = await clientAt(era, group.all);
    const begun = (): boolean => Object.values(servers).every((each) => asked(each, 'tools/list'));
    expect(await after(4000, group, begun, toolsOf(client))).toEqual(names.map((name) => `${name}__tool`));
  });

  test('sees the tools of other servers while one is down, and is notified when it is back', async () => {
    const down = having('back');
    down.unreachable = 'it is down';
    const { all, logs } = await scriptedGroup({ down, one: having('a') });
    const client = await clientAt(era, all);
    const listed = await client.request('tools/list');
    expect((listed['tools'] as Json[]).map(({ name }) => name)).toEqual(['one__a']);
    expect(listed['_meta']).toMatchObject({
      'meanwhile/missing': { down: expect.stringContaining('it is down') as string },
    });
    const failed = await client.error('tools/call', { name: 'down__back' });
    expect(failed?.message).toContain("'down'");
    const stream = await watch(client);
    down.unreachable = undefined;
    down.last.comeBack('first');
    await stream.heard(CHANGED);
    const now = await client.request('tools/list');
    expect((now['tools'] as Json[]).map(({ name }) => name)).toEqual(['down__back', 'one__a']);
    expect(JSON.stringify(now['_meta'] ?? {})).not.toContain('meanwhile/missing');
    expect(stream.told(CHANGED)).toHaveLength(1);
    expect(logs.filter(({ event }) => event === 'list_not_read')).toMatchObject([{ data: { server: 'down' } }]);
  });

  test('is notified without a request when a server that was down is back', async () => {
    const down = having('back');
    down.unreachable = 'it is down';
    const { all, clock } = await scriptedGroup({ down, one: having('a') });
    const client = await clientAt(era, all);
    expect(await toolsOf(client)).toEqual(['one__a']);
    const stream = await watch(client);
    const { attempts } = down.last;
    clock.advance(60_000);
    await soon(() => down.last.attempts).toBe(attempts + 1);
    down.unreachable = undefined;
    clock.advance(60_000);
    await stream.heard(CHANGED);
    expect(await toolsOf(client)).toEqual(['down__back', 'one__a']);
  });

  test('sees the tools of other servers while one server fails to list', async () => {
    const faulty = having('works');
    const works = faulty.methods['tools/list'] ?? (() => ({}));
    faulty.methods['tools/list'] = () => Promise.reject(new Error('out of order'));
    const { all, clock } = await scriptedGroup({ faulty, one: having('a') });
    const client = await clientAt(era, all);
    const listed = await client.request('tools/list');
    expect(listed['_meta']).toMatchObject({ 'meanwhile/missing': { faulty: 'out of order' } });
    const stream = await watch(client);
    faulty.methods['tools/list'] = works;
    // Its list is read again when a client asks, or after a while.
    if (era === 'legacy') expect(await toolsOf(client)).toEqual(['one__a']);
    else clock.advance(60_000);
    await stream.heard(CHANGED);
    expect(await toolsOf(client)).toEqual(['faulty__works', 'one__a']);
  });

  test('sees the last list of a disconnected server, and the new list after the reconnect', async () => {
    const leaving = having('old');
    const { all } = await scriptedGroup({ leaving, one: having('a') });
    const client = await clientAt(era, all);
    expect(await toolsOf(client)).toEqual(['leaving__old', 'one__a']);
    leaving.goAway();
    expect(await toolsOf(client)).toEqual(['leaving__old', 'one__a']);
    const failed = await client.error('tools/call', { name: 'leaving__old' });
    expect(failed?.message).toContain("'leaving'");
    const stream = await watch(client);
    leaving.lists.tools.push(tool('new'));
    leaving.comeBack();
    await stream.heard(CHANGED);
    expect(await toolsOf(client)).toEqual(['leaving__old', 'leaving__new', 'one__a']);
  });

  test('M-1, X-3: does not get a list above the size limit, and gets the reason', async () => {
    const huge = having(...Array.from({ length: 1000 }, (_each, index) => `t${index}`));
    for (const each of huge.lists.tools) each['description'] = 'x'.repeat(10_000);
    const client = await clientAt(era, (await scriptedGroup({ huge, one: having('a') })).all);
    for (const _again of [1, 2]) {
      const listed = await client.request('tools/list');
      expect((listed['tools'] as Json[]).map(({ name }) => name)).toEqual(['one__a']);
      expect(listed['_meta']).toMatchObject({
        'meanwhile/missing': { huge: expect.stringContaining('all.listBytes = 4194304') as string },
      });
    }
    const stream = await watch(client);
    huge.lists.tools.splice(1);
    huge.tellChanged('tools');
    await stream.heard(CHANGED);
    await soon(async () => toolsOf(client)).toEqual(['huge__t0', 'one__a']);
  });
});

import { describe, expect, test } from 'vitest';
import { bearer, textOf } from '../../../tests/e2e/direct/answered.ts';
import { LegacyWire } from '../../../tests/e2e/direct/legacy-wire.ts';
import { soon } from '../../../tests/e2e/flows/watch.ts';
import { ERAS, clientAt, idsOf, toolsOf, watch } from '../../../tests/support/group-clients.ts';
import { takeApart, type Json } from '../../../tests/support/hub.ts';
import { MemoryDatabase } from '../../../tests/support/memory-database.ts';
import { INITIALIZE, post, postAndLeave } from '../../../tests/support/raw-http.ts';
import { FULL, PlayedServer, scriptedGroup, tool, TRAITS } from '../../../tests/support/scripted-group.ts';

const CHANGED = 'notifications/tools/list_changed';
const TOKENS = { auth: { tokens: { ada: 'a'.repeat(32), ben: 'b'.repeat(32) } } };
const ADA = bearer(TOKENS.auth.tokens.ada);
const BEN = bearer(TOKENS.auth.tokens.ben);

function having(...tools: string[]): PlayedServer {
  const played = new PlayedServer({ tools: tools.map((name) => tool(name)), prompts: [{ name: 'ask' }] });
  for (const name of tools) played.tools[name] = (call) => call.answer(name);
  return played;
}

describe.each(ERAS)('M-1: a %s client', (era) => {
  test('S-3: is notified of added and removed servers, and other principals do not see them', async () => {
    const servers = { one: having('a'), added: having('b') };
    const { url, all } = await scriptedGroup(servers, { settings: TOKENS, unconfigured: ['added'] });
    const ada = await clientAt(era, all, { headers: ADA });
    const ben = await clientAt(era, all, { headers: BEN });
    for (const client of [ada, ben]) expect(await toolsOf(client)).toEqual(['one__a']);
    const [heard, unheard] = [await watch(ada), await watch(ben)];
    const hub = await LegacyWire.open(url, { headers: ADA });
    await hub.call('add_server', { name: 'added', url: 'http://added.test/' });
    await heard.heard(CHANGED);
    expect(await toolsOf(ada)).toEqual(['one__a', 'added__b']);
    expect(textOf(await ada.call('added__b'))).toBe('b');
    expect(await toolsOf(ben)).toEqual(['one__a']);
    expect(await ben.error('tools/call', { name: 'added__b' })).toMatchObject({ code: -32602 });
    await hub.call('remove_server', { name: 'added' });
    await soon(() => heard.told(CHANGED).length).toBe(2);
    expect(await toolsOf(ada)).toEqual(['one__a']);
    expect(await ada.error('tools/call', { name: 'added__b' })).toMatchObject({ code: -32602 });
    expect(unheard.told(CHANGED)).toEqual([]);
  });

  test('sees the entries that its group selects, and can call no others', async () => {
    const servers = { 'db-a': having('read', 'write', 'drop'), 'db-b': having('read'), web: having('read') };
    const groups = {
      data: { servers: ['db-*'], include: ['*__read', 'db-a__*'], exclude: ['*__drop'] },
      'my plain.one': { servers: ['db-a'], prefix: false },
    };
    const { url } = await scriptedGroup(servers, { settings: { groups } });
    const data = await clientAt(era, `${url}/data`);
    expect(await toolsOf(data)).toEqual(['db-a__read', 'db-a__write', 'db-b__read']);
    expect(await idsOf(data, 'prompts/list')).toEqual(['db-a__ask', 'db-b__ask']);
    for (const name of ['db-a__drop', 'web__read', 'read']) {
      expect(await data.error('tools/call', { name })).toMatchObject({ code: -32602 });
    }
    expect(servers.web.connections).toEqual([]);
    const plain = await clientAt(era, `${url}/my%20plain.one`);
    expect(textOf(await plain.call('drop'))).toBe('drop');
    expect(await toolsOf(plain)).toEqual(['read', 'write', 'drop']);
    expect(await plain.error('tools/call', { name: 'db-a__read' })).toMatchObject({ code: -32602 });
  });

  test('causes one warning in the log per pattern that matches nothing', async () => {
    const groups = { data: { include: ['one__*', 'two__read'], exclude: ['*__writ'] } };
    const { url, logs } = await scriptedGroup({ one: having('read', 'write') }, { settings: { groups } });
    for (const program of ['first', 'second']) {
      expect(await toolsOf(await clientAt(era, `${url}/data`, { program }))).toEqual(['one__read', 'one__write']);
    }
    const warned = logs.filter(({ event }) => event === 'group_pattern_unmatched');
    expect(warned.map(({ level, data }) => [level, data])).toEqual([
      ['warn', { group: 'data', pattern: 'two__read' }],
      ['warn', { group: 'data', pattern: '*__writ' }],
    ]);
  });

  test('X-4: gets the first of two tools with the same name in a group without prefixes', async () => {
    const servers = { one: having('read'), two: having('write') };
    const { url, logs } = await scriptedGroup(servers, { settings: { groups: { plain: { prefix: false } } } });
    const client = await clientAt(era, `${url}/plain`);
    expect(await toolsOf(client)).toEqual(['read', 'write']);
    servers.two.lists.tools.push(tool('read'));
    servers.two.tellChanged('tools');
    expect(await toolsOf(client)).toEqual(['read', 'write']);
    expect(logs.filter(({ event }) => event === 'name_clash')).toMatchObject([
      { level: 'warn', data: { list: 'tools', name: 'read', server: 'two', alsoOf: 'one' } },
    ]);
    await client.call('read');
    expect(servers.one.connections.flatMap(({ calls }) => calls)).toHaveLength(1);
  });
});

test('M-1, X-2: an unknown group is not found, and a session is valid at its own endpoint only', async () => {
  const groups = { data: {} };
  const { url, all } = await scriptedGroup({ one: having('a') }, { settings: { groups } });
  const unknown = await post(`${url}/nothing`, INITIALIZE);
  expect(unknown.status).toBe(404);
  expect(unknown.text).toMatch(/nothing.*one/);
  const client = await LegacyWire.open(all);
  const elsewhere = new LegacyWire(`${url}/data`, client.sessionId);
  expect((await elsewhere.send('tools/list')).status).toBe(404);
});

test('M-1, X-2: sessions and tasks of one principal are hidden from another', async () => {
  const one = having('a');
  one.tools['a'] = () => {};
  const { all } = await scriptedGroup({ one }, { settings: TOKENS });
  const ada = await LegacyWire.open(all, { headers: ADA });
  const { taskId } = await ada.begin('one__a');
  const stranger = new LegacyWire(all, ada.sessionId, BEN);
  expect((await stranger.send('tools/list')).status).toBe(404);
  const ben = await LegacyWire.open(all, { headers: BEN });
  expect(await ben.error('tasks/get', { taskId })).toMatchObject({ code: -32602 });
  expect((await ben.request('tasks/list'))['tasks']).toEqual([]);
});

test('M-4, P-2: a restored session connects only to servers of its group that it subscribed to', async () => {
  const resources = [{ uri: 'x://a', name: 'a' }];
  const servers = { one: having('a'), two: having('b'), three: having('c') };
  for (const each of Object.values(servers)) each.lists.resources.push(...resources);
  const database = new MemoryDatabase();
  const before = await scriptedGroup(servers, { database, settings: { groups: { data: {} } } });
  const client = await LegacyWire.open(`${before.url}/data`);
  await client.request('logging/setLevel', { level: 'warning' });
  for (const uri of ['x://a', 'meanwhile://two/x://a']) await client.request('resources/subscribe', { uri });
  await before.close();
  for (const each of Object.values(servers)) each.connections.length = 0;
  await scriptedGroup(servers, { database, settings: { groups: { data: { servers: ['two', 'three'] } } } });
  expect(Object.values(servers).map(({ connections }) => connections.length)).toEqual([0, 1, 0]);
});

describe('M-3: log levels', () => {
  test('apply to all servers, including servers that connect or are added later, and after a restart', async () => {
    const servers = {
      one: having('a'),
      modern: having('b'),
      mute: having('c'),
      later: having('d'),
      added: having('e'),
    };
    servers.modern.info = { ...servers.modern.info, traits: TRAITS.modern };
    const { logging: _logging, ...mute } = FULL;
    servers.mute.info = { ...servers.mute.info, capabilities: mute };
    servers.later.unreachable = 'not yet';
    const { url, all } = await scriptedGroup(servers, { unconfigured: ['added'] });
    const client = await LegacyWire.open(all);
    const levels = ({ last }: PlayedServer): unknown[] =>
      last.requests.filter(({ method }) => method === 'logging/setLevel').map(({ params }) => params['level']);
    await client.request('logging/setLevel', { level: 'warning' });
    await soon(() => levels(servers.one)).toEqual(['warning']);
    servers.later.unreachable = undefined;
    servers.later.last.comeBack('first');
    await soon(() => levels(servers.later)).toEqual(['warning']);
    const hub = await LegacyWire.open(url);
    await hub.call('add_server', { name: 'added', url: 'http://added.test/' });
    await soon(() => levels(servers.added)).toEqual(['warning']);
    await client.call('modern__b');
    expect(servers.modern.last.last.outgoing.meta).toMatchObject({ 'io.modelcontextprotocol/logLevel': 'warning' });
    expect([levels(servers.modern), levels(servers.mute)]).toEqual([[], []]);
    expect(await client.error('logging/setLevel', { level: 'loud' })).toMatchObject({ code: -32602 });
  });

  test('of several servers: messages name their server in the logger', async () => {
    const servers = { one: having('a'), two: having('b') };
    const { all } = await scriptedGroup(servers);
    const client = await LegacyWire.open(all);
    const stream = await client.listen();
    servers.one.last.say('notifications/message', { level: 'info', data: 1, logger: 'db' });
    servers.two.last.say('notifications/message', { level: 'info', data: 2 });
    await soon(() => stream.told('notifications/message')).toEqual([
      { level: 'info', data: 1, logger: 'one/db' },
      { level: 'info', data: 2, logger: 'two' },
    ]);
  });

  test('of a modern client go with each request to its server, and messages arrive on its stream', async () => {
    const one = having('a');
    one.tools['a'] = (call) => {
      const related = { requestId: call.outgoing.id };
      one.last.say('notifications/message', { level: 'debug', data: 0 }, related);
      one.last.say('notifications/message', { level: 'error', data: 1 }, related);
      call.answer('done');
    };
    const { all } = await scriptedGroup({ one, two: having('b') });
    const client = await clientAt('modern', all);
    const meta: Json = { 'io.modelcontextprotocol/logLevel': 'warning' };
    if (client instanceof LegacyWire) throw new Error('not a modern client');
    const stream = await client.stream('tools/call', { name: 'one__a', arguments: {}, _meta: meta });
    await stream.result();
    expect(stream.told('notifications/message').map(({ data, logger }) => [data, logger])).toEqual([[1, 'one']]);
    expect(one.last.requests.filter(({ method }) => method === 'logging/setLevel')).toHaveLength(1);
  });
});

test.each(ERAS)(
  'M-1, T-4: a %s client that stopped waiting takes over its call, and never that of another server',
  async (era) => {
    const servers = { one: having('a'), two: having('a') };
    for (const { tools } of Object.values(servers)) tools['a'] = () => {};
    const { url, all } = await scriptedGroup(servers);
    const client = await clientAt(era, all, { capabilities: { elicitation: {} } });
    const begun = ({ connections }: PlayedServer): number => connections.flatMap(({ calls }) => calls).length;
    const { message, headers } = client.raw('tools/call', { name: 'one__a', arguments: { n: 1 } });
    const left = postAndLeave(all, message, headers);
    await soon(() => begun(servers.one)).toBe(1);
    left.destroy();
    const hub = await LegacyWire.open(url);
    await soon(async () => takeApart(await hub.call('list_tasks')).body['tasks']).toHaveLength(1);
    const again = client.call('one__a', { n: 1 });
    const other = client.call('two__a', { n: 1 });
    await soon(() => begun(servers.two)).toBe(1);
    servers.one.last.last.answer('of one');
    servers.two.last.last.answer('of two');
    expect([textOf(await again), textOf(await other)]).toEqual(['of one', 'of two']);
    expect(begun(servers.one)).toBe(1);
  },
);

test('M-1, H-5: a client of the hub finds a task of a client of the endpoint of all servers', async () => {
  const one = having('a');
  one.tools['a'] = () => {};
  const { url, all } = await scriptedGroup({ one });
  const client = await LegacyWire.open(all);
  const { taskId } = await client.begin('one__a');
  const hub = await LegacyWire.open(url);
  const { body } = takeApart(await hub.call('list_tasks'));
  expect(body['tasks']).toMatchObject([{ task_id: taskId, server: 'one' }]);
});

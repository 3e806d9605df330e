import { describe, expect, test } from 'vitest';
import { soon } from '../../../tests/e2e/flows/watch.ts';
import { ERAS, clientAt, idsOf, watch } from '../../../tests/support/group-clients.ts';
import type { Json } from '../../../tests/support/hub.ts';
import { FULL, PlayedServer, scriptedGroup, tool, TRAITS } from '../../../tests/support/scripted-group.ts';
import { MemoryDatabase } from '../../../tests/support/memory-database.ts';
import { LegacyWire } from '../../../tests/e2e/direct/legacy-wire.ts';
import { ModernWire } from '../../../tests/e2e/direct/modern-wire.ts';

const resource = (uri: string): Json => ({ uri, name: uri });

/** A server that has these resources, and says in them whose they are. */
function library(name: string, uris: string[], more: ConstructorParameters<typeof PlayedServer>[0] = {}): PlayedServer {
  const played = new PlayedServer({ resources: uris.map(resource), ...more });
  for (const uri of uris) played.texts[uri] = `${uri} of ${name}`;
  return played;
}

const read = async (client: { request: LegacyWire['request'] }, uri: string): Promise<unknown> =>
  (await client.request('resources/read', { uri }))['contents'];

describe.each(ERAS)('M-3: a %s client', (era) => {
  test('reads resources by their own URIs, and a repeated URI by one that names the server', async () => {
    const servers = { one: library('one', ['x://a', 'x://b']), 'two 2': library('two', ['x://b', 'x://c']) };
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const shown = ['x://a', 'x://b', 'meanwhile://two%202/x://b', 'x://c'];
    expect(await idsOf(client, 'resources/list')).toEqual(shown);
    const texts = ['x://a of one', 'x://b of one', 'x://b of two', 'x://c of two'];
    for (const [index, uri] of shown.entries()) expect(await read(client, uri)).toEqual([{ uri, text: texts[index] }]);
    // One that has not listed anything reads the same.
    const other = await clientAt(era, (await scriptedGroup(servers)).all, { program: 'other' });
    for (const [index, uri] of shown.entries()) expect(await read(other, uri)).toEqual([{ uri, text: texts[index] }]);
  });

  test('gets updates with the URI that it subscribed with', async () => {
    const servers = { one: library('one', ['x://b']), two: library('two', ['x://b']) };
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const [first, second] = (await idsOf(client, 'resources/list')) as [string, string];
    const named = 'meanwhile://one/x://b';
    const stream = await watch(client, [first, second]);
    const updated = (): unknown[] => stream.told('notifications/resources/updated').map(({ uri }) => uri);
    servers.two.last.say('notifications/resources/updated', { uri: 'x://b' });
    await soon(updated).toEqual([second]);
    servers.one.last.say('notifications/resources/updated', { uri: 'x://b' });
    await soon(updated).toEqual([second, first]);
    const other = await clientAt(era, (await scriptedGroup(servers)).all, { program: 'other' });
    const heard = await watch(other, [named]);
    servers.one.last.say('notifications/resources/updated', { uri: 'x://b' });
    expect(await heard.heard('notifications/resources/updated')).toMatchObject({ params: { uri: named } });
  });

  test('gets no updates after it has unsubscribed', async () => {
    const servers = { one: library('one', ['x://b']), two: library('two', ['x://b']) };
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const stream = await watch(client, ['meanwhile://two/x://b']);
    await soon(() => [...servers.two.last.subscribed]).toEqual(['x://b']);
    expect([...servers.one.last.subscribed]).toEqual([]);
    if (client instanceof LegacyWire) await client.request('resources/unsubscribe', { uri: 'meanwhile://two/x://b' });
    else stream.drop();
    await soon(() => [...servers.two.last.subscribed]).toEqual([]);
  });

  test('finds the UI resource of a tool at the URI in the tool metadata', async () => {
    const meta = { ui: { resourceUri: 'ui://view/main', visibility: ['app'] }, 'ui/resourceUri': 'ui://view/main' };
    const lists = { tools: [tool('show', { _meta: { ...meta, other: 1 } })] };
    const servers = { one: library('one', ['ui://view/main'], lists), two: library('two', ['ui://view/main'], lists) };
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const shown = ['ui://one/view/main', 'ui://two/view/main'];
    expect(await idsOf(client, 'resources/list')).toEqual(shown);
    const { tools } = await client.request('tools/list');
    expect((tools as Json[]).map(({ _meta }) => _meta)).toEqual(
      shown.map((uri) => ({ ui: { resourceUri: uri, visibility: ['app'] }, 'ui/resourceUri': uri, other: 1 })),
    );
    for (const [index, uri] of shown.entries())
      expect(await read(client, uri)).toEqual([{ uri, text: `ui://view/main of ${index === 0 ? 'one' : 'two'}` }]);
    // The server's own address may be in the result of a tool.
    expect(await read(client, 'ui://view/main')).toMatchObject([{ text: 'ui://view/main of one' }]);
  });

  test('X-2: reads a URI that names a server from that server only', async () => {
    const servers = { bank: library('bank', []), evil: library('evil', []) };
    servers.evil.texts['ui://bank/form'] = servers.evil.texts['ui://form'] = 'pay me';
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    expect(await client.error('resources/read', { uri: 'ui://bank/form' })).toMatchObject({ message: /not found/ });
    expect(await client.error('resources/read', { uri: 'meanwhile://bank/x://a' })).toBeDefined();
    expect(servers.evil.last.requests.map(({ method }) => method)).not.toContain('resources/read');
  });

  test('can read the resource links in results, which name their server', async () => {
    const uris = ['x://b', 'ui://one/main', 'x://only'];
    const servers = { one: library('one', ['x://b']), two: library('two', uris, { tools: [tool('links')] }) };
    const content = [
      ...uris.map((uri) => ({ type: 'resource_link', uri, name: uri })),
      { type: 'resource', resource: { uri: 'x://b', text: 'embedded' } },
      { type: 'text', text: 'x://b' },
    ];
    servers.two.tools['links'] = (call) => call.end({ kind: 'result', result: { content } });
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    await client.request('resources/list');
    const { content: got } = (await client.call('two__links')) as { content: Json[] };
    const links = got.slice(0, 3).map(({ uri }) => String(uri));
    expect(links).toEqual(['meanwhile://two/x://b', 'ui://two/one/main', 'x://only']);
    expect(got.slice(3)).toEqual([
      { type: 'resource', resource: { uri: 'meanwhile://two/x://b', text: 'embedded' } },
      { type: 'text', text: 'x://b' },
    ]);
    for (const [index, uri] of links.entries()) {
      expect(await read(client, uri)).toEqual([{ uri, text: `${uris[index]} of two` }]);
    }
  });

  test('unsubscribes at the right server, even if another server came since', async () => {
    const servers = { one: library('one', ['x://b']), two: library('two', ['x://b']) };
    servers.one.unreachable = 'not yet';
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const stream = await watch(client, ['x://b', 'meanwhile://two/x://b']);
    servers.one.comeBack();
    await stream.heard('notifications/resources/list_changed');
    expect(await idsOf(client, 'resources/list')).toEqual(['x://b', 'meanwhile://two/x://b']);
    servers.two.last.say('notifications/resources/updated', { uri: 'x://b' });
    await soon(() => new Set(stream.told('notifications/resources/updated').map(({ uri }) => uri))).toEqual(
      new Set(['x://b', 'meanwhile://two/x://b']),
    );
    if (client instanceof LegacyWire) {
      await client.request('resources/unsubscribe', { uri: 'x://b' });
      expect([...servers.two.last.subscribed]).toEqual(['x://b']);
      await client.request('resources/unsubscribe', { uri: 'meanwhile://two/x://b' });
    } else stream.drop();
    await soon(() => [...servers.two.last.subscribed]).toEqual([]);
  });

  test('reads by resource templates, also if two servers have the same template', async () => {
    const resourceTemplates = [{ uriTemplate: 'file:///{path}', name: 'files' }];
    const servers = {
      one: library('one', []),
      two: new PlayedServer({ resourceTemplates }),
      three: new PlayedServer({ resourceTemplates }),
    };
    servers.two.texts['file:///a'] = 'a of two';
    servers.three.texts['file:///a'] = 'a of three';
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const shown = ['file:///{path}', 'meanwhile://three/file:///{path}'];
    expect(await idsOf(client, 'resources/templates/list')).toEqual(shown);
    const uris = shown.map((template) => template.replace('{path}', 'a'));
    expect(await read(client, uris[0] ?? '')).toEqual([{ uri: uris[0], text: 'a of two' }]);
    expect(await read(client, uris[1] ?? '')).toEqual([{ uri: uris[1], text: 'a of three' }]);
    expect(servers.one.last.requests.filter(({ method }) => method === 'resources/read')).toEqual([]);
  });

  test('reads an unlisted resource from the first server that has it', async () => {
    const servers = { one: library('one', []), odd: library('odd', []), two: library('two', []) };
    // Servers of the Python SDK answer with this code.
    servers.odd.methods['resources/read'] = () =>
      Promise.reject(Object.assign(new Error('Unknown resource'), { code: 0 }));
    servers.two.texts['x://hidden'] = 'found';
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    expect(await read(client, 'x://hidden')).toEqual([{ uri: 'x://hidden', text: 'found' }]);
    expect(await client.error('resources/read', { uri: 'x://nowhere' })).toMatchObject({ code: 0 });
    servers.odd.methods['resources/read'] = servers.one.methods['resources/read'] ?? (() => ({}));
    const notFound = era === 'legacy' ? -32002 : -32602;
    expect(await client.error('resources/read', { uri: 'x://nowhere' })).toMatchObject({ code: notFound });
    expect(await client.error('resources/read', { uri: 7 })).toMatchObject({ code: -32602 });
  });

  test('gets completions from the server of the prompt or template, and none without the capability', async () => {
    const lists = { prompts: [{ name: 'greet' }], resourceTemplates: [{ uriTemplate: 'x://{id}', name: 'x' }] };
    const servers = { one: new PlayedServer(lists), two: new PlayedServer(lists), dumb: new PlayedServer(lists) };
    const { completions: _completions, ...without } = FULL;
    servers.dumb.info = { ...servers.dumb.info, capabilities: without };
    for (const name of ['one', 'two'] as const) {
      servers[name].methods['completion/complete'] = ({ ref }) => ({
        completion: { values: [name, JSON.stringify(ref)] },
      });
    }
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    const complete = async (ref: Json): Promise<unknown> => {
      const { completion } = await client.request('completion/complete', { ref, argument: { name: 'a', value: '' } });
      return (completion as Json)['values'];
    };
    const prompt = (name: string): Json => ({ type: 'ref/prompt', name });
    const template = (uri: string): Json => ({ type: 'ref/resource', uri });
    expect(await complete(prompt('two__greet'))).toEqual(['two', JSON.stringify(prompt('greet'))]);
    expect(await complete(prompt('dumb__greet'))).toEqual([]);
    expect(await complete(template('x://{id}'))).toEqual(['one', JSON.stringify(template('x://{id}'))]);
    expect(await complete(template('meanwhile://two/x://{id}'))).toEqual(['two', JSON.stringify(template('x://{id}'))]);
    expect(await complete(template('meanwhile://dumb/x://{id}'))).toEqual([]);
    expect(await client.error('completion/complete', { ref: {} })).toMatchObject({ code: -32602 });
    expect(await client.error('completion/complete', { ref: prompt('one__no') })).toBeUndefined();
  });

  test('gets prompts by their names in the list', async () => {
    const servers = {
      one: new PlayedServer({ prompts: [{ name: 'greet' }] }),
      two: new PlayedServer({ prompts: [{ name: 'greet' }] }),
    };
    for (const name of ['one', 'two'] as const)
      servers[name].methods['prompts/get'] = (params) => ({
        messages: [],
        description: `${name}: ${String(params['name'])}`,
      });
    const client = await clientAt(era, (await scriptedGroup(servers)).all);
    expect(await idsOf(client, 'prompts/list')).toEqual(['one__greet', 'two__greet']);
    expect(await client.request('prompts/get', { name: 'two__greet' })).toMatchObject({ description: 'two: greet' });
  });
});

test('M-3, X-2: answers in a round of resources/read reach only the server that asked', async () => {
  const servers = { evil: library('evil', []), good: library('good', []) };
  for (const each of Object.values(servers)) each.info = { ...each.info, traits: TRAITS.modern };
  const asked = { 'pin?': { method: 'elicitation/create', params: { message: 'PIN?' } } };
  servers.good.methods['resources/read'] = ({ requestState, inputResponses }) =>
    requestState === 'mine'
      ? { contents: [{ uri: 'x://a', text: JSON.stringify(inputResponses) }] }
      : { resultType: 'input_required', inputRequests: asked, requestState: 'mine' };
  const { all } = await scriptedGroup(servers);
  const client = new ModernWire(all, { capabilities: { elicitation: {} } });
  const round = await client.request('resources/read', { uri: 'x://a' });
  expect(round).toMatchObject({ resultType: 'input_required', inputRequests: asked });
  const answers = { 'pin?': { action: 'accept', content: { pin: 4711 } } };
  const { requestState } = round;
  const params = { uri: 'x://a', requestState, inputResponses: answers };
  expect(await client.request('resources/read', params)).toMatchObject({
    contents: [{ text: JSON.stringify(answers) }],
  });
  expect(JSON.stringify(servers.evil.last.requests)).not.toContain('4711');
  // A state that it made up, or answers to no question, go nowhere.
  await client.request('resources/read', { ...params, requestState: undefined });
  expect(JSON.stringify(servers.evil.last.requests)).not.toContain('4711');
});

test('M-3, P-2: after a restart a client gets updates with the URIs that it subscribed with', async () => {
  const servers = { one: library('one', ['x://b']), two: library('two', ['x://b']) };
  const database = new MemoryDatabase();
  const before = await scriptedGroup(servers, { database });
  const client = await LegacyWire.open(before.all);
  await client.request('resources/subscribe', { uri: 'meanwhile://two/x://b' });
  await before.close();
  const after = await scriptedGroup(servers, { database });
  const again = new LegacyWire(after.all, client.sessionId);
  const stream = await again.listen();
  await soon(() => [...servers.two.last.subscribed]).toEqual(['x://b']);
  await soon(() => servers.two.last.requests.map(({ method }) => method)).toContain('resources/list');
  await soon(() => servers.one.last.requests.map(({ method }) => method)).toContain('resources/list');
  servers.two.last.say('notifications/resources/updated', { uri: 'x://b' });
  expect(await stream.heard('notifications/resources/updated')).toMatchObject({
    params: { uri: 'meanwhile://two/x://b' },
  });
});

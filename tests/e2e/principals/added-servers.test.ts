import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { bearer, textOf } from '../direct/answered.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import { activity, echo, untilEvent } from '../servers/activity.ts';
import { ADA, BEN, LOOPBACK_ALLOWED, serverNames, TOKENS, twoHubs } from './two-hubs.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];

const startTwo = async (): Promise<[V1Http, V1Http]> => [owned(await startV1Http()), owned(await startV1Http())];

const echoCalls = ({ state }: V1Http): number => state.calls.filter(({ tool }) => tool === 'echo').length;

const mentions = (events: { server: string }[], name: string): boolean => events.some(({ server }) => server === name);

test.each(KINDS)('S-3, X-2: a client cannot replace or remove a config-file server (%s)', async (kind) => {
  const [honest, evil] = await startTwo();
  const { ada, ben } = await twoHubs({ one: { url: honest.url } }, kind);
  expect(await echo(ben, 'one', 'before')).toBe('before');
  for (const [tool, args] of [
    ['add_server', { name: 'one', url: evil.url }],
    ['remove_server', { name: 'one' }],
  ] as const) {
    const refused = await ada.call(tool, args);
    expect(refused.code, tool).toBe('TOOL_ERR_NOT_ALLOWED');
    expect(refused.text, tool).toContain('allowServerChanges');
  }
  expect(await echo(ben, 'one', 'secret')).toBe('secret');
  expect(await serverNames(ada)).toEqual(['one']);
  expect(echoCalls(evil)).toBe(0);
  // Adding what is there already changes nothing.
  expect((await ada.call('add_server', { name: 'one', url: honest.url })).isError).toBe(false);
});

test.each(KINDS)(
  'S-3: with allowServerChanges a change to a config-file server affects everyone (%s)',
  async (kind) => {
    const [before, after] = await startTwo();
    const { ada, ben } = await twoHubs({ one: { url: before.url } }, kind, { allowServerChanges: true });
    await echo(ben, 'one');
    expect((await ada.call('add_server', { name: 'one', url: after.url })).isError).toBe(false);
    await untilEvent(ben, 'server_added', 'one');
    await echo(ben, 'one');
    expect(echoCalls(after)).toBe(1);
    expect((await ada.call('remove_server', { name: 'one' })).isError).toBe(false);
    await untilEvent(ben, 'server_removed', 'one');
    expect(await serverNames(ben)).toEqual([]);
  },
);

test.each(KINDS)('S-3, S-1: only the principal that added a server can use it (%s)', async (kind) => {
  const [shared, added] = await startTwo();
  const { url, ada, ben, running } = await twoHubs({ one: { url: shared.url } }, kind);
  const secondAda = await hubOverHttp(url, kind === 'v1' ? 'v2' : 'v1', ADA);
  await Promise.all([echo(ada, 'one'), echo(ben, 'one'), echo(secondAda, 'one')]);
  await activity(ben, 1);
  expect((await ada.call('add_server', { name: 'mine', url: added.url })).isError).toBe(false);
  await untilEvent(secondAda, 'server_added', 'mine');
  expect(await echo(secondAda, 'mine', 'shared')).toBe('shared');

  const { connections } = added.state;
  expect(await serverNames(ben)).toEqual(['one']);
  const attempts = await Promise.all([
    ben.call('execute_tool', { server: 'mine', tool: 'echo', args: { text: 'x' } }),
    ben.call('get_server_status', { server: 'mine' }),
    ben.call('list_tools', { server: 'mine' }),
    ben.call('get_logs', { server: 'mine' }),
    ben.call('get_notifications', { server: 'mine', include_delivered: true }),
    ben.call('read_resource', { server: 'mine', uri: 'test://static' }),
    ben.call('remove_server', { name: 'mine' }),
  ]);
  for (const { code, text } of attempts) {
    expect(code).toBe('TOOL_ERR_SERVER_NOT_FOUND');
    expect(text).toContain('known: one');
  }
  const tools = (await ben.call('list_tools')).body['tools'] as { server: string }[];
  expect(mentions(tools, 'mine')).toBe(false);
  expect(mentions((await activity(ben, 1)).events, 'mine')).toBe(false);
  expect((await ada.call('remove_server', { name: 'mine' })).isError).toBe(false);
  expect(mentions((await activity(ben, 1)).events, 'mine')).toBe(false);
  expect(added.state.connections).toBe(connections);
  expect(running.gateway.sessions).toHaveLength(3);
});

test.each(['legacy', 'modern'] as const)(
  'S-3, D-5: only the principal that added a server can use /mcp/<server> (%s)',
  async (era) => {
    const added = owned(await startV1Http());
    const { url, ada } = await twoHubs({}, 'v1');
    await ada.call('add_server', { name: 'mine', url: added.url });
    const call = async (headers: Record<string, string>): Promise<unknown> => {
      const at = `${url}/mine`;
      const wire = era === 'legacy' ? await LegacyWire.open(at, { headers }) : new ModernWire(at, { headers });
      return textOf(await wire.call('echo', { text: 'direct' }));
    };
    expect(await call(ADA)).toBe('direct');
    await expect(call(BEN)).rejects.toThrow("no server 'mine'; there are none");
  },
);

test.each(KINDS)('S-3: two principals may use the same name for different servers (%s)', async (kind) => {
  const [hers, his] = await startTwo();
  const { ada, ben } = await twoHubs({}, kind);
  await ada.call('add_server', { name: 'mine', url: hers.url });
  await ben.call('add_server', { name: 'mine', url: his.url });
  await Promise.all([echo(ada, 'mine'), echo(ben, 'mine'), echo(ben, 'mine')]);
  expect([echoCalls(hers), echoCalls(his)]).toEqual([1, 2]);
  // Replacing and removing one leaves the other alone.
  await ben.call('add_server', { name: 'mine', url: hers.url });
  await ada.call('remove_server', { name: 'mine' });
  expect(await serverNames(ada)).toEqual([]);
  expect(await echo(ben, 'mine', 'still here')).toBe('still here');
});

test('S-3, P-1, S-1: after a restart added servers still belong to their principals', async () => {
  const [hers, his] = await startTwo();
  const settings = { auth: { tokens: TOKENS }, ...LOOPBACK_ALLOWED, store: join(await temporaryFolder(), 'store.db') };
  const first = await httpGateway({}, settings);
  const ada = await hubOverHttp(first.url, 'v1', ADA);
  const ben = await hubOverHttp(first.url, 'modern', BEN);
  await ada.call('add_server', { name: 'mine', url: hers.url });
  await ada.call('add_server', { name: 'hers', url: hers.url });
  await ben.call('add_server', { name: 'mine', url: his.url });
  await first.close();

  const { url } = await httpGateway({}, settings);
  const [adaAgain, benAgain] = [await hubOverHttp(url, 'modern', ADA), await hubOverHttp(url, 'v1', BEN)];
  expect([await serverNames(adaAgain), await serverNames(benAgain)]).toEqual([['hers', 'mine'], ['mine']]);
  await Promise.all([echo(adaAgain, 'mine'), echo(benAgain, 'mine'), echo(benAgain, 'mine')]);
  expect([echoCalls(hers), echoCalls(his)]).toEqual([1, 2]);
});

test('S-3: a server of the config file hides an added one of the same name', async () => {
  const [added, configured] = await startTwo();
  const settings = { auth: { tokens: TOKENS }, ...LOOPBACK_ALLOWED, store: join(await temporaryFolder(), 'store.db') };
  const first = await httpGateway({}, settings);
  await (await hubOverHttp(first.url, 'v1', ADA)).call('add_server', { name: 'one', url: added.url });
  await first.close();
  const { url } = await httpGateway({ one: { url: configured.url } }, settings);
  const ada = await hubOverHttp(url, 'v1', ADA);
  expect(await serverNames(ada)).toEqual(['one']);
  await echo(ada, 'one');
  expect([echoCalls(added), echoCalls(configured)]).toEqual([0, 1]);
});

test('S-3: without tokens clients can change config-file servers', async () => {
  const [before, after] = await startTwo();
  const { url } = await httpGateway({ one: { url: before.url }, two: { url: before.url } });
  const [first, second] = [await hubOverHttp(url), await hubOverHttp(url, 'modern')];
  await first.call('add_server', { name: 'one', url: after.url });
  await echo(second, 'one');
  expect(echoCalls(after)).toBe(1);
  await second.call('remove_server', { name: 'two' });
  expect(await serverNames(first)).toEqual(['one']);
});

const add = async (hub: HubClient, name: string, url: string): Promise<string | undefined> =>
  (await hub.call('add_server', { name, url })).code;

test.each(KINDS)('S-3, X-2: addServers limits which principals may add servers (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { ada, ben } = await twoHubs({}, kind, { addServers: ['ada'] });
  const refused = await ben.call('add_server', { name: 'mine', url: server.url });
  expect(refused.code).toBe('TOOL_ERR_NOT_ALLOWED');
  expect(refused.text).toContain('addServers');
  expect(await add(ada, 'mine', server.url)).toBeUndefined();
  const { url } = await httpGateway({}, { addServers: 'nobody' });
  expect(await add(await hubOverHttp(url, kind), 'mine', server.url)).toBe('TOOL_ERR_NOT_ALLOWED');
});

test.each(KINDS)(
  'S-3, X-3: the number of added servers per principal is limited, also for parallel calls (%s)',
  async (kind) => {
    const server = owned(await startV1Http());
    const { ada, ben } = await twoHubs({}, kind, { limits: { serversPerPrincipal: 2 } });
    const names = ['a', 'b', 'c', 'd', 'e'];
    const codes = await Promise.all(names.map((name) => add(ada, name, server.url)));
    expect(codes.filter((code) => code === 'TOOL_ERR_LIMIT')).toHaveLength(3);
    expect(await serverNames(ada)).toHaveLength(2);
    const refused = await ada.call('add_server', { name: 'f', url: server.url });
    expect(refused.text).toContain('limits.serversPerPrincipal = 2');
    // Another principal has its own limit, and removing one makes room.
    expect(await add(ben, 'a', server.url)).toBeUndefined();
    const [first] = await serverNames(ada);
    expect(await add(ada, String(first), `${server.url}?again`)).toBeUndefined();
    await ada.call('remove_server', { name: first });
    expect(await add(ada, 'g', server.url)).toBeUndefined();
  },
);

test('X-2: errors for one principal do not mention servers of another', async () => {
  const server = owned(await startV1Http());
  const { url, ada } = await twoHubs({}, 'v1');
  await ada.call('add_server', { name: 'private-name', url: server.url });
  const ben = await hubOverHttp(url, 'v1', bearer(TOKENS.ben));
  expect((await ben.call('execute_tool', { server: 'x', tool: 'y' })).text).not.toContain('private-name');
});

test.each(KINDS)('X-4: servers named "." or ".." are refused (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({});
  const hub = await hubOverHttp(url, kind);
  for (const name of ['.', '..']) {
    const refused = await hub.call('add_server', { name, url: server.url });
    expect(refused.code).toBe('TOOL_ERR_INVALID_ARGUMENT');
    expect(refused.text).toContain('letter or a digit');
  }
  for (const name of ['.', '..']) {
    await expect(httpGateway({ [name]: { url: server.url } })).rejects.toThrow('letter or a digit');
  }
});

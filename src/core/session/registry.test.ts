import { expect, test } from 'vitest';
import { coreSettings } from '../../../tests/support/core-settings.ts';
import { MemoryDatabase } from '../../../tests/support/memory-database.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import type { ServerConfig } from '../ports/server-config.ts';
import { ServerRegistry } from './registry.ts';

const FILE: ServerConfig = { url: 'http://file.test/' };
const MINE: ServerConfig = { url: 'http://mine.test/' };

async function registry(settings: Record<string, unknown> = {}) {
  const store = new MemoryDatabase().open();
  const servers = new ServerRegistry(store, coreSettings(settings), new TestClock(5000));
  await servers.load(new Map([['file', FILE]]));
  return { servers, store };
}

const names = (servers: ServerRegistry, principal: string): string[] =>
  servers
    .of(principal)
    .list()
    .map(({ name }) => name);

test('S-3: servers of the config file belong to all principals, and added servers to their principal', async () => {
  const { servers } = await registry();
  servers.set('ann', 'mine', MINE, 'session');
  expect(names(servers, 'ann')).toEqual(['file', 'mine']);
  expect(names(servers, 'bob')).toEqual(['file']);
  expect(() => servers.of('bob').require('mine')).toThrow("no server 'mine'; known: file");
  expect(servers.audienceOf('ann', 'mine')).toEqual({ everyone: false, principal: 'ann' });
  expect(servers.audienceOf('ann', 'file')).toEqual({ everyone: true });
  expect(servers.size).toBe(2);
});

test('S-3: two principals can use the same name for different servers', async () => {
  const { servers } = await registry();
  servers.set('ann', 'x', MINE, 'session');
  servers.set('bob', 'x', FILE, 'session');
  expect(servers.of('ann').require('x').config).toEqual(MINE);
  servers.remove('ann', 'x');
  expect(servers.of('ann').get('x')).toBeUndefined();
  expect(servers.of('bob').require('x').config).toEqual(FILE);
});

test('P-1: added servers are restored after a restart, but hidden if the config file has the same name', async () => {
  const { servers, store } = await registry();
  servers.set('ann', 'mine', MINE, 'session');
  servers.set('ann', 'other', MINE, 'session');
  expect(await store.servers()).toMatchObject([{ owner: 'ann', addedAt: 5000 }, { owner: 'ann' }]);
  const next = new ServerRegistry(store, coreSettings(), new TestClock());
  await next.load(new Map([['mine', FILE]]));
  expect(next.of('ann').require('mine')).toMatchObject({ config: FILE, addedBy: 'config file' });
  expect(names(next, 'ann')).toEqual(['mine', 'other']);
  expect(next.addedByOthers('bob').map(({ name, principal }) => [name, principal])).toEqual([['other', 'ann']]);
  expect(next.addedByOthers('ann')).toEqual([]);
});

test('S-3: servers of the config file can be replaced and removed only if the operator allows it', async () => {
  const { servers } = await registry({ allowServerChanges: false });
  expect(() => servers.assertMayAdd('ann', 'file')).toThrow('is in the config file and cannot be replaced');
  expect(() => servers.assertMayRemove('ann', 'file')).toThrow('is in the config file and cannot be removed');
  expect(() => servers.assertMayRemove('ann', 'none')).toThrow("no server 'none'");
  const { servers: free } = await registry({ allowServerChanges: true });
  free.assertMayAdd('ann', 'file');
  free.assertMayRemove('ann', 'file');
  free.set('ann', 'file', MINE, 'session');
  expect(free.of('bob').require('file')).toMatchObject({ config: MINE, addedBy: 'client' });
  free.remove('ann', 'file');
  expect(names(free, 'bob')).toEqual([]);
});

test.each([
  ['anyone', ['ann', 'bob']],
  ['nobody', []],
  [['ann'], ['ann']],
] as const)('X-2: addServers decides who may add servers: %j', async (addServers, allowed) => {
  const { servers } = await registry({ addServers });
  for (const principal of ['ann', 'bob']) {
    const add = (): void => servers.assertMayAdd(principal, 'mine');
    if ((allowed as readonly string[]).includes(principal)) expect(add).not.toThrow();
    else expect(add).toThrow('adding servers is not allowed;');
  }
});

test('X-3: a principal may add a limited number of servers, and may replace its own', async () => {
  const { servers } = await registry({ limits: { serversPerPrincipal: 1 } });
  servers.set('ann', 'first', MINE, 'session');
  expect(() => servers.assertMayAdd('ann', 'second')).toThrow('limits.serversPerPrincipal = 1');
  servers.assertMayAdd('ann', 'first');
  servers.assertMayAdd('bob', 'second');
});

test('M-1: a server cannot be added under the name of a group or of the endpoint of all servers', async () => {
  const { servers, store } = await registry({ groups: { dev: {} } });
  expect(() => servers.assertMayAdd('ann', 'dev')).toThrow("'dev' is the name of a group in the config file");
  expect(() => servers.assertMayAdd('ann', 'all')).toThrow("'all' is the name of the endpoint of all servers");
  expect(() => servers.assertMayAdd('ann', 'constructor')).not.toThrow();
  // A server that was added before there was the group.
  servers.set('ann', 'ops', MINE, 'session');
  const next = new ServerRegistry(store, coreSettings({ groups: { ops: {} } }), new TestClock());
  await next.load(new Map([['file', FILE]]));
  expect(next.of('ann').get('ops')).toBeUndefined();
  expect(names(next, 'ann')).toEqual(['file']);
});

test('K-6: a server stored by another gateway replaces one of the config file only if that is allowed', async () => {
  const record = { id: 'ann/file', owner: 'ann', name: 'file', config: MINE, addedAt: 1, addedBy: 'session' };
  const { servers } = await registry({ allowServerChanges: false });
  expect(servers.audienceOfStored(record)).toBeUndefined();
  servers.follow(record.id, record);
  expect(servers.of('ann').require('file').config).toEqual(FILE);
  servers.follow(record.id, undefined);
  expect(servers.of('bob').require('file').config).toEqual(FILE);
  const { servers: open } = await registry({ allowServerChanges: true });
  expect(open.audienceOfStored(record)).toEqual({ everyone: true });
  open.follow(record.id, record);
  expect(open.of('bob').require('file').config).toEqual(MINE);
  const mine = { ...record, id: 'ann/mine', name: 'mine' };
  expect(servers.audienceOfStored(mine)).toEqual({ everyone: false, principal: 'ann' });
  servers.follow(mine.id, mine);
  expect([names(servers, 'ann'), names(servers, 'bob')]).toEqual([['file', 'mine'], ['file']]);
});

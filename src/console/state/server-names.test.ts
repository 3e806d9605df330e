import { expect, test } from 'vitest';
import type { Server } from '../../lib/api-items.ts';
import { Collection } from './collection.ts';
import { findServerByName, serverOf } from './server-names.ts';
import { serverKey } from '../../lib/server-key.ts';

const server = (name: string, principal?: string): Server => ({
  name,
  ...(principal !== undefined && { principal }),
  transport: 'http',
  address: 'http://127.0.0.1/mcp',
  state: 'idle',
  sessions: 0,
});

const servers = new Collection<Server>(serverKey);
const [mine, hers, his] = [server('x'), server('x', 'ann'), server('y', 'bob')];
servers.putAll([mine, hers, his]);

test('W-5: servers with the same name of two principals are two items, and a link names one of them', () => {
  expect(servers.size).toBe(3);
  expect(findServerByName(servers, 'x', undefined)).toEqual(mine);
  expect(findServerByName(servers, 'x', 'ann')).toEqual(hers);
  expect(findServerByName(servers, 'x', 'bob')).toBeUndefined();
  // A link without the principal finds the only server of that name.
  expect(findServerByName(servers, 'y', undefined)).toEqual(his);
});

test('W-5: a call links to the server of its principal', () => {
  expect(serverOf(servers, { server: 'x', principal: 'ann' })).toEqual({ name: 'x', principal: 'ann' });
  expect(serverOf(servers, { server: 'x', principal: 'local' })).toEqual({ name: 'x' });
});

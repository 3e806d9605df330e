import { expect, test } from 'vitest';
import type { Server } from '../api/schemas.ts';
import { mergedDetails, mergedServers } from './servers.ts';

const server = (more: Partial<Server>): Server => ({
  name: 'x',
  addedBy: 'client',
  transport: 'http',
  address: 'http://127.0.0.1/mcp',
  state: 'connected',
  sessions: 1,
  ...more,
});

test('W-5: servers with the same name of several principals stay separate items', () => {
  const [ann, bob] = [server({ principal: 'ann' }), server({ principal: 'bob', state: 'failed', sessions: 0 })];
  expect(mergedServers([[ann, bob], [ann]])).toEqual([{ ...ann, sessions: 2 }, bob]);
  const details = mergedDetails([ann, bob, ann].map((each) => ({ ...each, log: [] })));
  expect(details).toEqual({ ...ann, sessions: 2, log: [] });
});

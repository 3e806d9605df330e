import { expect, test } from 'vitest';
import { serverFilter } from './groups.ts';

test('M-1: a group contains the servers that match its names and patterns, or all servers', () => {
  const servers = ['github', 'GitHub', 'team-a', 'team-b'];
  expect(servers.filter(serverFilter({}))).toEqual(servers);
  expect(servers.filter(serverFilter({ servers: [] }))).toEqual([]);
  expect(servers.filter(serverFilter({ servers: ['github', 'TEAM-?'] }))).toEqual(['github', 'team-a', 'team-b']);
});

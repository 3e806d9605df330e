import { expect, test } from 'vitest';
import { isMeanwhile } from './collect.ts';

test.each([
  [{ command: '/usr/local/bin/meanwhile', args: ['stdio'] }, true],
  [{ command: 'C:\\npm\\meanwhile.cmd' }, true],
  [{ command: 'npx', args: ['-y', 'meanwhile@latest', 'stdio'] }, true],
  [{ command: 'pnpm', args: ['dlx', 'meanwhile'] }, true],
  [{ command: '/usr/bin/node', args: ['/lib/node_modules/meanwhile/dist/cli.js', 'stdio'] }, true],
  [{ command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/home/me/meanwhile'] }, false],
  [{ command: 'git-server', args: ['--repository', '/home/me/meanwhile'] }, false],
  [{ command: 'node', args: ['meanwhile'] }, false],
  [{ url: 'https://example.org/meanwhile' }, false],
])('L-1: %j is recognized as Meanwhile: %j', (entry, expected) => {
  expect(isMeanwhile(entry)).toBe(expected);
});

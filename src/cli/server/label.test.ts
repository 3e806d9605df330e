import { expect, test } from 'vitest';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import { serverLabel } from './label.ts';

test.each<[string, ServerConfig, string]>([
  ['files', { command: 'secret' }, 'files'],
  ['https://u:p@x.example/mcp?key=1', { url: 'https://u:p@x.example/mcp?key=1' }, 'https://x.example/mcp?key=***'],
  ['./server', { command: './server', args: [] }, './server'],
  ['npx -y @a/b', { command: 'npx', args: ['-y', '@a/b'] }, 'npx @a/b'],
  ['node x.js --key k', { command: 'node', args: ['x.js', '--key', 'k'] }, 'node x.js …'],
  ['/usr/bin/node /a/b/dist/x.js', { command: '/usr/bin/node', args: ['/a/b/dist/x.js'] }, '…/bin/node …/dist/x.js'],
  ['npx tsx a.ts --k v', { command: 'npx', args: ['tsx', 'a.ts', '--k', 'v'] }, 'npx tsx a.ts …'],
  ['npx tsx /a/b/c/order.ts', { command: 'npx', args: ['tsx', '/a/b/c/order.ts'] }, 'npx tsx …/c/order.ts'],
  ['npx pkg s3cret', { command: 'npx', args: ['pkg', 's3cret'] }, 'npx pkg …'],
  ['tool --key k', { command: 'tool', args: ['--key', 'k'] }, 'tool …'],
  ['tool db://u:p@h', { command: 'tool', args: ['db://u:p@h'] }, 'tool …'],
])('C-3, X-4: the label of %s shows no secrets', (name, config, label) => {
  expect(serverLabel({ name, config })).toBe(label);
});

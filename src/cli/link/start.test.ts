import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../tests/support/gateway.ts';
import { commandStart, thisProgram, urlStart } from './start.ts';

test('L-1: the linked path to Node is one that survives an update, and the path to the program is the real one', async () => {
  const folder = await temporaryFolder();
  const [cellar, bin, shell] = [
    join(folder, 'Cellar/node/24.1.0'),
    join(folder, 'bin'),
    join(folder, 'fnm_multishells'),
  ];
  for (const each of [cellar, bin, shell]) mkdirSync(each, { recursive: true });
  const [execPath, cli] = [join(cellar, 'node'), join(folder, 'cli.js')];
  for (const file of [execPath, cli]) writeFileSync(file, '');
  for (const each of [bin, shell]) symlinkSync(execPath, join(each, 'node'));
  symlinkSync(cli, join(bin, 'meanwhile'));
  const path = ['', relative(process.cwd(), bin), '/nowhere', shell, bin].join(delimiter);
  expect(thisProgram(join(bin, 'meanwhile'), execPath, path)).toEqual({ node: join(bin, 'node'), cli });
  expect(thisProgram(cli, execPath, shell)).toEqual({ node: execPath, cli });
});

test('L-1: the linked path of a program that pnpm has installed does not contain the version', async () => {
  const folder = await temporaryFolder();
  const real = join(folder, '.pnpm/meanwhile@1.0.0/node_modules/meanwhile');
  mkdirSync(real, { recursive: true });
  writeFileSync(join(real, 'cli.js'), '');
  symlinkSync(real, join(folder, 'meanwhile'));
  symlinkSync(join(real, 'cli.js'), join(folder, 'bin'));
  expect(thisProgram(join(folder, 'meanwhile/cli.js')).cli).toBe(join(folder, 'meanwhile/cli.js'));
  expect(thisProgram(join(folder, 'bin')).cli).toBe(join(real, 'cli.js'));
});

test.each(['_npx', 'dlx', 'dlx-123', 'bunx-0-meanwhile'])(
  'L-1: a copy of the program below %s is not linked',
  async (name) => {
    const folder = join(await temporaryFolder(), name, 'abc');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'cli.js'), '');
    expect(() => thisProgram(join(folder, 'cli.js'))).toThrow('install it first (npm install -g meanwhile)');
  },
);

test('L-1: a linked client starts a command or connects to a URL', () => {
  const program = { node: '/n', cli: '/c' };
  expect(commandStart(program, 'hub', undefined)).toEqual({ command: '/n', args: ['/c', 'stdio'] });
  const all = ['/c', 'stdio', '--all', '--config', '/f'];
  expect(commandStart(program, 'all', '/f')).toEqual({ command: '/n', args: all });
  expect(urlStart('http://h:1', 'hub', {})).toEqual({ url: 'http://h:1/mcp' });
  expect(urlStart('http://h:1/', 'all', { A: 'b' })).toEqual({ url: 'http://h:1/mcp/all', headers: { A: 'b' } });
  expect(urlStart('https://h/mcp/files', 'all', {})).toEqual({ url: 'https://h/mcp/files' });
});

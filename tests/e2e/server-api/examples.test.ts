/** The examples as a user runs them: with the packed package, in a project of their own. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../support/imports.ts';
import { defer } from '../../support/owned.ts';
import { packedProject } from '../../support/packed-project.ts';

const run = promisify(execFile);
const MODULES = join(ROOT, 'node_modules');
const TSC = join(MODULES, 'typescript/bin/tsc');

/** Each starts a few programs. */
const PATIENT = { timeout: 60_000 };

let project = '';

beforeAll(async () => {
  project = await packedProject(['tsx', '@types/node', 'libsql']);
  await cp(join(ROOT, 'examples/server'), project, { recursive: true });
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
}, PATIENT.timeout);

afterAll(() => rm(project, { recursive: true, force: true }));

/** Starts an example; the address it prints, and a way to end it. */
async function serve(name: string): Promise<{ url: string; kill: () => Promise<void> }> {
  const child = spawn(process.execPath, ['--import', 'tsx', `${name}.ts`], {
    cwd: project,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'close');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  defer(kill);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  await expect.poll(() => said, PATIENT).toMatch(/^http:.*\/mcp\n$/);
  return { url: said.trim(), kill };
}

async function meanwhile(...args: string[]): Promise<string> {
  const program = join(project, 'node_modules/meanwhile/dist/cli.js');
  const env = { PATH: process.env['PATH'] ?? '', HOME: project };
  const { stdout } = await run(process.execPath, [program, ...args], { cwd: project, env });
  return stdout;
}

test('D-1: the examples are right by the types of the package', PATIENT, async () => {
  const compilerOptions = { strict: true, target: 'ES2022', module: 'NodeNext', noEmit: true, types: ['node'] };
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const { stdout } = await run(process.execPath, [TSC, '-p', project]).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
});

test('D-1: the first server, over HTTP and on stdio', PATIENT, async () => {
  const { url, kill } = await serve('order');
  const order = ['order', 'count=1', '--answer', '{"size":"M"}'];
  expect(await meanwhile('call', url, ...order)).toBe('1 shirts in M are on their way.\n');
  // One process a store.
  await kill();
  const command = `${process.execPath} --import tsx order.ts --stdio`;
  expect(await meanwhile('call', command, ...order)).toBe('1 shirts in M are on their way.\n');
});

test('D-1: work that is done elsewhere', PATIENT, async () => {
  const { url } = await serve('print-shop');
  const said = await meanwhile('call', url, 'print', 'text=hello', '--answer', '{"colour":true}');
  expect(said).toBe('A poster that says "hello", in colour.\n');
});

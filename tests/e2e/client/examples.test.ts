/** The examples as a user runs them: with the packed package, in a project made as the page says. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../../src/lib/version.ts';
import { ROOT } from '../../support/imports.ts';
import { linkInto, type Project, projectAsToldBy, type Typed, typed } from '../../support/packed-project.ts';

const run = promisify(execFile);
const EVERYTHING = '@modelcontextprotocol/server-everything';
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** Each starts a few programs, and the server takes its time on purpose. */
const PATIENT = { timeout: 120_000 };

let project: Project;

beforeAll(async () => {
  project = await projectAsToldBy('docs/CLIENT.md');
  await linkInto(project, '@types/node');
  await linkInto(project, 'tsx', { tsx: 'dist/cli.mjs' });
  await linkInto(project, EVERYTHING, { 'mcp-server-everything': 'dist/index.js' });
  await cp(join(ROOT, 'examples/client'), project.folder, { recursive: true });
}, PATIENT.timeout);

afterAll(() => project.remove());

function start(name: string, ...args: string[]): Typed {
  return typed(project, ['node_modules/.bin/tsx', `${name}.ts`, ...args].join(' '));
}

/** All it printed, once it has ended well. */
async function played({ code, said }: Typed): Promise<string> {
  expect(await code, said()).toBe(0);
  return said();
}

test('C-1: the first call, with the command of the page', PATIENT, async () => {
  const [command = ''] = project.next;
  expect(await played(typed(project, command))).toContain('Echo: hello');
});

const RESOLUTIONS = [{ module: 'NodeNext' }, { module: 'ESNext', moduleResolution: 'bundler' }];

test.each(RESOLUTIONS)('C-1, L-2: the examples are right by the types of the package: %j', PATIENT, async (how) => {
  const compilerOptions = { strict: true, target: 'ES2022', ...how, noEmit: true, types: ['node'] };
  await writeFile(join(project.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const checked = run(process.execPath, [TSC, '-p', project.folder]).catch((error: { stdout: string }) => error);
  expect((await checked).stdout).toBe('');
});

test('L-2: the packed package runs with npx; a copy in the cache of npx is not linked', PATIENT, async () => {
  const npx = `cd ${dirname(project.tarball)} && npx --yes ./${basename(project.tarball)}`;
  expect(await played(typed(project, `${npx} --version`))).toBe(`${VERSION}\n`);
  const link = typed(project, `${npx} link cursor --yes`);
  expect(await link.code).toBe(2);
  expect(link.said()).toContain('install it first: npm install -g meanwhile');
});

test('C-1: a long call', PATIENT, async () => {
  const said = await played(start('long-call'));
  expect(said).toMatch(/^the server keeps it as a task\n(working .*\n)+completed .*\n# Research Report: otters\n/);
  expect(said).toMatch(/\ndone\n$/);
});

test('C-1: a call that asks', PATIENT, async () => {
  const example = start('questions');
  await expect.poll(example.said, PATIENT).toMatch(/\(task: input_required\)\n.*to decline: $/);
  example.type('nonsense');
  await expect.poll(example.said, PATIENT).toMatch(/does not fit the form.*\n.*to decline: $/);
  example.type('historical');
  expect(await played(example)).toContain('# Research Report: otters (historical)');
});

test('C-1: leaving and coming back', PATIENT, async () => {
  const url = await everythingOverHttp();
  const said = await played(start('come-back', url));
  expect(said).toMatch(/^left; the task goes on\nback; working .*\n# Research Report: otters\n/);
});

test('C-1: errors', PATIENT, async () => {
  expect(await played(start('errors'))).toBe('cancelled, on the server too\n');
});

async function everythingOverHttp(): Promise<string> {
  const port = await freePort();
  const { said } = typed(project, `npx ${EVERYTHING} streamableHttp`, { PORT: String(port) });
  await expect.poll(said, PATIENT).toContain(`listening on port ${port}`);
  return `http://127.0.0.1:${port}/mcp`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** The examples as a user runs them: with the packed package, in a project made as the pages say. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../src/lib/version.ts';
import { ROOT } from '../support/imports.ts';
import { linkInto, type Project, projectAsToldBy, type Typed, typed } from '../support/packed-project.ts';
import { freePort } from '../support/port-to-return-to.ts';

const run = promisify(execFile);
const CLIENT_PAGE = 'docs/CLIENT.md';
const SERVER_PAGE = 'docs/SERVER.md';
const EVERYTHING = '@modelcontextprotocol/server-everything';
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** Each starts a few programs, and the server takes its time on purpose. */
const PATIENT = { timeout: 120_000 };

let project: Project;

beforeAll(async () => {
  project = await projectAsToldBy([CLIENT_PAGE, SERVER_PAGE]);
  await linkInto(project, '@types/node');
  await linkInto(project, 'tsx', { tsx: 'dist/cli.mjs' });
  await linkInto(project, EVERYTHING, { 'mcp-server-everything': 'dist/index.js' });
  for (const examples of ['client', 'server']) {
    await cp(join(ROOT, 'examples', examples), project.folder, { recursive: true });
  }
}, PATIENT.timeout);

afterAll(() => project.remove());

/** All it printed, once it has ended well. */
async function played({ code, said }: Typed): Promise<string> {
  expect(await code, said()).toBe(0);
  return said();
}

const RESOLUTIONS = [{ module: 'NodeNext' }, { module: 'ESNext', moduleResolution: 'bundler' }];

test.each(RESOLUTIONS)(
  'C-1, D-1, L-2: the examples compile with the types of the package: %j',
  PATIENT,
  async (how) => {
    const compilerOptions = { strict: true, target: 'ES2022', ...how, noEmit: true, types: ['node'] };
    await writeFile(join(project.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    expect(await readdir(project.folder)).toEqual(expect.arrayContaining(['first-call.ts', 'order.ts']));
    // With several threads it takes more processor time in all.
    const env = { ...process.env, GOMAXPROCS: '1' };
    const checked = run(process.execPath, [TSC, '-p', project.folder], { env });
    expect((await checked.catch((error: { stdout: string }) => error)).stdout).toBe('');
  },
);

test('L-2: the packed package runs with npx, and link refuses a copy in the npx cache', PATIENT, async () => {
  const npx = `cd ${dirname(project.tarball)} && npx --yes ./${basename(project.tarball)}`;
  expect(await played(typed(project, `${npx} --version`))).toBe(`${VERSION}\n`);
  const cache = join(project.env['HOME'] ?? '', '.npm/_npx');
  const [copy = ''] = await readdir(cache);
  const link = typed(project, `${join(cache, copy, 'node_modules/.bin/meanwhile')} link cursor --yes`);
  expect(await link.code).toBe(2);
  expect(link.said()).toContain('install it first (npm install -g meanwhile)');
});

test('C-1: the first-call example runs with the command of the guide', PATIENT, async () => {
  const [command = ''] = project.next[CLIENT_PAGE] ?? [];
  expect(await played(typed(project, command))).toContain('Echo: hello');
});

/** Starts an example of the client without tsx and the real npx, which the first call has shown to work and which take their time. */
async function start(name: string, ...args: string[]): Promise<Typed> {
  const source = await readFile(join(project.folder, `${name}.ts`), 'utf8');
  await writeFile(join(project.folder, `${name}.js`), (await transform(source, { loader: 'ts' })).code);
  const PATH = `${await quickNpx()}:${project.env['PATH']}`;
  return typed(project, [process.execPath, `${name}.js`, ...args].join(' '), { PATH });
}

/** A folder with an npx that knows one package only. */
async function quickNpx(): Promise<string> {
  const folder = join(project.folder, 'quick');
  const npx = join(folder, 'npx');
  await mkdir(folder, { recursive: true });
  await writeFile(npx, `#!/bin/sh\n[ "$*" = "-y ${EVERYTHING}" ] && exec node_modules/.bin/mcp-server-everything\n`);
  await chmod(npx, 0o755);
  return folder;
}

test('C-1: the long-call example runs', PATIENT, async () => {
  const said = await played(await start('long-call'));
  expect(said).toMatch(/^the server keeps it as a task\n(working .*\n)+completed .*\n# Research Report: otters\n/);
  expect(said).toMatch(/\ndone\n$/);
});

test('C-1: the questions example runs', PATIENT, async () => {
  const example = await start('questions');
  await expect.poll(example.said, PATIENT).toMatch(/\(task: input_required\)\n.*to decline: $/);
  example.type('nonsense');
  await expect.poll(example.said, PATIENT).toMatch(/does not match the form.*\n.*to decline: $/);
  example.type('historical');
  expect(await played(example)).toContain('# Research Report: otters (historical)');
});

test('C-1: the come-back example runs', PATIENT, async () => {
  const url = await everythingOverHttp();
  const said = await played(await start('come-back', url));
  expect(said).toMatch(/^left; the task goes on\nback; working .*\n# Research Report: otters\n/);
});

test('C-1: the errors example runs', PATIENT, async () => {
  expect(await played(await start('errors'))).toBe('cancelled, on the server too\n');
});

async function everythingOverHttp(): Promise<string> {
  const port = await freePort();
  const { said } = typed(project, 'node_modules/.bin/mcp-server-everything streamableHttp', { PORT: String(port) });
  await expect.poll(said, PATIENT).toContain(`listening on port ${port}`);
  return `http://127.0.0.1:${port}/mcp`;
}

/** Starts a server; the address it prints, and a way to end it. */
async function serve(command: string): Promise<{ url: string; kill: () => Promise<void> }> {
  const { said, kill } = typed(project, command, { PORT: '0' });
  await expect.poll(said, PATIENT).toMatch(/^http:.*\/mcp$/m);
  return { url: /^http:.*\/mcp$/m.exec(said())?.[0] ?? '', kill };
}

test('D-1: the first server example runs over HTTP and stdio with the commands of the guide', PATIENT, async () => {
  const [start = '', call = ''] = project.next[SERVER_PAGE] ?? [];
  const answer = `--answer '{"size":"M"}'`;
  const { url, kill } = await serve(start);
  expect(call).toContain('http://127.0.0.1:3000/mcp');
  const overHttp = `${call.trim().replace('http://127.0.0.1:3000/mcp', url)} ${answer}`;
  expect(await played(typed(project, overHttp))).toContain('3 shirts in M are on their way.\n');
  // One process a store.
  await kill();
  const command = `${start.trim()} --stdio`;
  expect(await readFile(join(ROOT, SERVER_PAGE), 'utf8')).toContain(`\`${command}\``);
  const onStdio = `npx meanwhile call "${command}" order count=1 ${answer}`;
  expect(await played(typed(project, onStdio))).toContain('1 shirts in M are on their way.\n');
});

test('D-1: the print-shop example runs', PATIENT, async () => {
  const { url } = await serve('node_modules/.bin/tsx print-shop.ts');
  const call = `node_modules/.bin/meanwhile call ${url} print text=hello --answer '{"colour":true}'`;
  expect(await played(typed(project, call))).toContain('A poster that says "hello", in colour.\n');
});

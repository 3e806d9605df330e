/** The examples as a user runs them: with the packed package, in a project made as the page says. */
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../support/imports.ts';
import { linkInto, type Project, projectAsToldBy, type Typed, typed } from '../../support/packed-project.ts';

const run = promisify(execFile);
const PAGE = 'docs/SERVER.md';
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** Each starts a few programs. */
const PATIENT = { timeout: 120_000 };

let project: Project;

beforeAll(async () => {
  project = await projectAsToldBy(PAGE);
  await linkInto(project, '@types/node');
  await linkInto(project, 'tsx', { tsx: 'dist/cli.mjs' });
  await cp(join(ROOT, 'examples/server'), project.folder, { recursive: true });
}, PATIENT.timeout);

afterAll(() => project.remove());

/** Starts a server; the address it prints, and a way to end it. */
async function serve(command: string): Promise<{ url: string; kill: () => Promise<void> }> {
  const { said, kill } = typed(project, command, { PORT: '0' });
  await expect.poll(said, PATIENT).toMatch(/^http:.*\/mcp$/m);
  return { url: /^http:.*\/mcp$/m.exec(said())?.[0] ?? '', kill };
}

/** All it printed, once it has ended well. */
async function played({ code, said }: Typed): Promise<string> {
  expect(await code, said()).toBe(0);
  return said();
}

const RESOLUTIONS = [{ module: 'NodeNext' }, { module: 'ESNext', moduleResolution: 'bundler' }];

test.each(RESOLUTIONS)('D-1, L-2: the examples are right by the types of the package: %j', PATIENT, async (how) => {
  const compilerOptions = { strict: true, target: 'ES2022', ...how, noEmit: true, types: ['node'] };
  await writeFile(join(project.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const checked = run(process.execPath, [TSC, '-p', project.folder]).catch((error: { stdout: string }) => error);
  expect((await checked).stdout).toBe('');
});

test('D-1: the first server, over HTTP and on stdio, with the commands of the page', PATIENT, async () => {
  const [start = '', call = ''] = project.next;
  const answer = `--answer '{"size":"M"}'`;
  const { url, kill } = await serve(start);
  expect(call).toContain('http://127.0.0.1:3000/mcp');
  const overHttp = `${call.trim().replace('http://127.0.0.1:3000/mcp', url)} ${answer}`;
  expect(await played(typed(project, overHttp))).toContain('3 shirts in M are on their way.\n');
  // One process a store.
  await kill();
  const command = `${start.trim()} --stdio`;
  expect(await readFile(join(ROOT, PAGE), 'utf8')).toContain(`\`${command}\``);
  const onStdio = `npx meanwhile call "${command}" order count=1 ${answer}`;
  expect(await played(typed(project, onStdio))).toContain('1 shirts in M are on their way.\n');
});

test('D-1: work that is done elsewhere', PATIENT, async () => {
  const { url } = await serve('npx tsx print-shop.ts');
  const said = await played(typed(project, `npx meanwhile call ${url} print text=hello --answer '{"colour":true}'`));
  expect(said).toContain('A poster that says "hello", in colour.\n');
});

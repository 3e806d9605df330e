/** The examples as a user runs them: with the packed package, in a project of their own. */
import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { cp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../support/imports.ts';
import { defer } from '../../support/owned.ts';
import { linkInto, packedProject } from '../../support/packed-project.ts';

const run = promisify(execFile);
const MODULES = join(ROOT, 'node_modules');
const EVERYTHING = '@modelcontextprotocol/server-everything';
const TSC = join(MODULES, 'typescript/bin/tsc');

/** Each starts a few programs, and the server takes its time on purpose. */
const PATIENT = { timeout: 60_000 };

let project = '';

beforeAll(async () => {
  project = await packedProject([EVERYTHING, 'tsx', '@types/node']);
  await linkInto(project, join(MODULES, EVERYTHING, 'dist/index.js'), 'node_modules/.bin/mcp-server-everything');
  await cp(join(ROOT, 'examples/client'), project, { recursive: true });
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ type: 'module', dependencies: { [EVERYTHING]: '*' } }),
  );
}, PATIENT.timeout);

afterAll(() => rm(project, { recursive: true, force: true }));

interface Example {
  /** What it has printed so far. */
  said: () => string;
  type: (line: string) => void;
  code: Promise<number | null>;
}

function start(name: string, ...args: string[]): Example {
  const child = spawn(process.execPath, ['--import', 'tsx', `${name}.ts`, ...args], { cwd: project });
  return { ...heard(child), type: (line) => void child.stdin.write(`${line}\n`) };
}

/** What a program prints, and how it ends; the test owns it. */
function heard(child: ChildProcessWithoutNullStreams): Pick<Example, 'said' | 'code'> {
  const code = once(child, 'close').then(([exit]) => exit as number | null);
  defer(async () => {
    child.kill('SIGKILL');
    await code;
  });
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
  }
  return { said: () => said, code };
}

/** All it printed, once it has ended well. */
async function played({ code, said }: Example): Promise<string> {
  expect(await code, said()).toBe(0);
  return said();
}

test('C-1: the examples are right by the types of the package', PATIENT, async () => {
  const compilerOptions = { strict: true, target: 'ES2022', module: 'NodeNext', noEmit: true, types: ['node'] };
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const { stdout } = await run(process.execPath, [TSC, '-p', project]).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
});

test('C-1: the first call', PATIENT, async () => {
  expect(await played(start('first-call'))).toContain('Echo: hello');
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
  const server = join(MODULES, EVERYTHING, 'dist/index.js');
  const child = spawn(process.execPath, [server, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
  });
  await expect.poll(heard(child).said, PATIENT).toContain(`listening on port ${port}`);
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

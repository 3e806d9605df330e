/**
 * One file of a program, because one that loads its modules one by one starts slowly. Beside it lies V8's code cache, with
 * which the program starts in half the time; without the cache it starts all the same.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';

/** How the program is run once, so that its code is compiled. */
export interface WarmUp {
  args: string[];
  /** What it is asked on its standard input before that ends, if it reads it. */
  request: { method: string; params?: Record<string, unknown> };
}

const LIST_TOOLS: WarmUp = { args: [], request: { method: 'tools/list' } };

/** What starts the program: the name of its file without the extension names its other files too. */
const STARTER = `'use strict';
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { Script } = require('node:vm');
const filename = __filename.replace(/cjs$/, 'bundle.cjs');
const cache = __filename.replace(/cjs$/, 'cache');
const source = '(function (exports, require, module, __filename, __dirname) {' + readFileSync(filename, 'utf8') + '\\n})';
const cachedData = existsSync(cache) ? readFileSync(cache) : undefined;
const script = new Script(source, { filename, cachedData });
if (process.env.MAKE_CODE_CACHE === __filename) {
  process.once('exit', () => {
    writeFileSync(cache + process.pid, script.createCachedData());
    renameSync(cache + process.pid, cache);
  });
}
script.runInThisContext()(exports, require, module, filename, __dirname);
`;

/** `target` is a path that ends with `.cjs`. */
export async function bundleProgram(source: string, target: string, warmUp: WarmUp = LIST_TOOLS): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: [source],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    minifyWhitespace: true,
    // Like the build: some packages cannot be bundled by their CommonJS entry.
    mainFields: ['module', 'main'],
    // A native module cannot be bundled.
    external: ['libsql'],
    // What a script in a code cache imports later has to be in it.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'importMetaUrl' },
    banner: { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;" },
  });
  const text = outputFiles[0]?.text ?? '';
  const bundle = target.replace(/cjs$/, 'bundle.cjs');
  if ((await readFile(bundle, 'utf8').catch(() => '')) === text) return;
  await rm(target.replace(/cjs$/, 'cache'), { force: true });
  await write(bundle, text);
  await write(target, STARTER);
  await makeCache(target, warmUp);
}

/** Renaming keeps a test run going on at the same time from starting half a file. */
async function write(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(temporary, text);
  await rename(temporary, path);
}

async function makeCache(program: string, { args, request }: WarmUp): Promise<void> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'] ?? '', MAKE_CODE_CACHE: program },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  child.stdin.on('error', () => {
    // It does not read it.
  });
  const clientInfo = { name: 'test', version: '1.0.0' };
  const messages = [
    { id: 'first', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 'last', ...request },
  ];
  for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('"last"')) child.stdin.end();
  });
  await exited;
}

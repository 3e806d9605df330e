/**
 * One file of a program, because one that loads its modules one by one starts slowly. Beside it lies V8's code cache, with
 * which the program starts in half the time; without the cache it starts all the same.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';

/** How the program is run once, so that its code is compiled. */
export interface WarmUp {
  args: string[];
  /** What it is asked on its standard input before that ends, if it reads that. */
  request?: { method: string; params?: Record<string, unknown> };
  /** The NODE_OPTIONS that it is started with: V8 takes no cache that was made with other flags. */
  nodeOptions?: string[];
}

const LIST_TOOLS: WarmUp = { args: [], request: { method: 'tools/list' } };

/** More than a program needs to compile itself. */
const WARM_UP_MS = 30_000;

/**
 * What starts the program. V8 takes a cache for that of a script of the same length, so both files are named by a hash; and
 * there is a cache for each set of flags. Without the first one, V8 would optimize the HTTP parser of undici, which is
 * WebAssembly, at its first use: half of all that a program does which does not live long.
 */
const starter = (name: string): string => `'use strict';
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { cachedDataVersionTag, setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');
setFlagsFromString('--liftoff-only');
const filename = join(__dirname, '${name}.cjs');
const cache = join(__dirname, '${name}.' + cachedDataVersionTag() + '.cache');
const cachedData = existsSync(cache) ? readFileSync(cache) : undefined;
const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData });
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
    // So that it is in ASCII: V8 needs twice the memory and more time for other text.
    legalComments: 'none',
    // Like the build: some packages cannot be bundled by their CommonJS entry.
    mainFields: ['module', 'main'],
    // A native module cannot be bundled.
    external: ['libsql'],
    // What a script in a code cache imports later has to be in it.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'importMetaUrl' },
    banner: { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;" },
  });
  const body = (outputFiles[0]?.text ?? '').replace(/^#!.*/, '');
  const text = `(function (exports, require, module, __filename, __dirname) {${body}\n})`;
  const hash = createHash('sha256').update(process.version).update(text).digest('hex').slice(0, 16);
  const [folder, name] = [dirname(target), `${basename(target, '.cjs')}.${hash}`];
  const { nodeOptions = [''] } = warmUp;
  await mkdir(folder, { recursive: true });
  const caches = (await readdir(folder)).filter((file) => file.startsWith(name) && file.endsWith('.cache'));
  if (caches.length >= nodeOptions.length && (await readFile(target, 'utf8')) === starter(name)) return;
  await write(join(folder, `${name}.cjs`), text);
  await write(target, starter(name));
  for (const options of nodeOptions) await makeCache(target, warmUp, options);
  await removeOlder(folder, name);
}

async function removeOlder(folder: string, name: string): Promise<void> {
  const [program = ''] = name.split('.');
  const isOlder = (file: string): boolean =>
    /\.[\da-f]{16}(\.\d+)?\.(cjs|cache)$/.test(file) && file.startsWith(`${program}.`) && !file.startsWith(`${name}.`);
  for (const file of (await readdir(folder)).filter(isOlder)) await rm(join(folder, file), { force: true });
}

/** Renaming keeps a test run going on at the same time from starting half a file. */
async function write(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

async function makeCache(program: string, { args, request }: WarmUp, nodeOptions: string): Promise<void> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'] ?? '', MAKE_CODE_CACHE: program, NODE_OPTIONS: nodeOptions },
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: WARM_UP_MS,
  });
  const exited = once(child, 'exit');
  child.stdin.on('error', () => {
    // It does not read it.
  });
  if (request) for (const message of conversation(request)) child.stdin.write(`${JSON.stringify(message)}\n`);
  else child.stdin.end();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('"last"')) child.stdin.end();
  });
  await exited;
}

function conversation(request: NonNullable<WarmUp['request']>): object[] {
  const clientInfo = { name: 'test', version: '1.0.0' };
  return [
    { id: 'first', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 'last', ...request },
  ].map((message) => ({ jsonrpc: '2.0', ...message }));
}

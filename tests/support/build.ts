/** Global set-up of the tests that start programs: builds the program if its sources have changed, and bundles for the tests. */
import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleProgram } from './bundle-program.ts';
import { ROOT } from './imports.ts';
import { bundlePath, QUICK_PROGRAM, SMALL_HEAP, sourcePath, type BundledServer } from './servers.ts';

const SERVERS: readonly BundledServer[] = [
  'v1-stdio',
  'v2-stdio',
  'tasks-v1-stdio',
  'tasks-v2-stdio',
  'liar-stdio',
  'rich-stdio',
  'receiver-driver-stdio',
  'conformance-modern-stdio',
  'conformance-legacy-stdio',
];

export default async function setup(): Promise<void> {
  await Promise.all([buildIfStale(), bundleGateway(), ...SERVERS.map(bundle)]);
}

/** The program once more, as `QUICK_PROGRAM`: for tests that start it often. */
async function bundleGateway(): Promise<void> {
  await bundleProgram(join(ROOT, 'src/cli/index.ts'), QUICK_PROGRAM, {
    args: ['stdio', '--store', ':memory:', '--log-level', 'silent'],
    request: {
      method: 'tools/call',
      params: { name: 'execute_tool', arguments: { server: 'demo', tool: 'book_table' } },
    },
    nodeOptions: ['', SMALL_HEAP.NODE_OPTIONS],
  });
}

export async function bundle(name: BundledServer): Promise<void> {
  await bundleProgram(sourcePath(name), bundlePath(name));
}

async function buildIfStale(): Promise<void> {
  const builtAt = await changedAt(join(ROOT, 'dist/cli.js'));
  const sources = ['src', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json'];
  const newest = await Promise.all(sources.map(async (source) => newestChange(join(ROOT, source))));
  if (Math.max(...newest) < builtAt) return;
  await promisify(execFile)(process.execPath, ['scripts/build.mjs'], { cwd: ROOT });
}

async function newestChange(path: string): Promise<number> {
  const info = await stat(path);
  if (!info.isDirectory()) return info.mtimeMs;
  // A folder changes when a file in it is removed or renamed.
  const within = await Promise.all((await readdir(path)).map(async (name) => newestChange(join(path, name))));
  return Math.max(info.mtimeMs, ...within);
}

async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

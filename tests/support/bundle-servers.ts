/** Global set-up: one file per stdio server, because a server that loads its modules one by one starts slowly. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { build } from 'esbuild';
import { bundlePath, sourcePath, type BundledServer } from './servers.ts';

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
  await Promise.all(SERVERS.map(bundle));
}

export async function bundle(name: BundledServer): Promise<void> {
  const target = bundlePath(name);
  const { outputFiles } = await build({
    entryPoints: [sourcePath(name)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    minify: true,
    write: false,
    // CommonJS dependencies call `require` for the modules of Node.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${name}`);
  await mkdir(dirname(target), { recursive: true });
  // Renaming keeps a test run going on at the same time from starting half a file.
  const temporary = `${target}.${process.pid}`;
  await writeFile(temporary, output.contents);
  await rename(temporary, target);
}

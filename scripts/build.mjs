// Bundles the program: one file that starts fast, with what the first answer does not need in files of their own.
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

await mkdir('dist', { recursive: true });
const before = await readdir('dist');

const { metafile } = await build({
  entryPoints: { cli: 'src/cli/index.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  minify: true,
  keepNames: true,
  sourcemap: false,
  legalComments: 'none',
  // A native module cannot be bundled.
  external: ['libsql'],
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
  metafile: true,
});
await chmod('dist/cli.js', 0o755);

// What is left of an earlier build goes last, so that a program that is started meanwhile finds all of one or the other.
const made = new Set(Object.keys(metafile.outputs).map((file) => basename(file)));
for (const file of before) if (!made.has(file)) await rm(join('dist', file), { recursive: true });

// Bundles the program: one file that starts fast, with what the first answer does not need in files of their own.
// The libraries are bundled beside it, with the types that their users see.
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { bundledLicenses } from './licenses.mjs';
import { mergeChunks } from './merge-chunks.mjs';

const LICENSES = 'THIRD-PARTY-LICENSES.txt';

await mkdir('dist', { recursive: true });
const before = await readdir('dist');

const COMMANDS = 'src/cli/index.ts';
const CLIENT = 'src/client/index.ts';
const SERVER = 'src/server/index.ts';
const GATEWAY = ['src/cli/commands/serve.ts', 'src/cli/commands/stdio.ts'];
/** What the gateway loads with its first client. */
const SESSIONS = [
  'src/core/session/session.ts',
  'src/core/session/shared-connections.ts',
  'src/north/http/eras.ts',
  'src/north/hub/hub.ts',
  'src/north/stdio/listener.ts',
  'src/south/backends.ts',
];

/** CommonJS modules in the bundle need it for the modules of Node. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

const options = {
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // The CommonJS build of jsonc-parser loads its parts in a way that cannot be bundled.
  mainFields: ['module', 'main'],
  minifyWhitespace: true,
  minifySyntax: true,
  // Names stay: they show up in the stack traces of other people's programs.
  minifyIdentifiers: false,
  legalComments: 'none',
  // A native module cannot be bundled.
  external: ['libsql'],
  logLevel: 'warning',
  metafile: true,
};

const [entry, program] = await Promise.all([
  // A file of its own without imports: it checks the version of Node before the rest is loaded.
  build({ ...options, entryPoints: { cli: 'src/cli/entry.ts' }, plugins: [loadsLater('./index.ts', './program.js')] }),
  build({
    ...options,
    entryPoints: { program: COMMANDS, client: CLIENT, server: SERVER },
    // What the program and the libraries share is there once.
    splitting: true,
    write: false,
  }),
]);
const stages = [
  { name: 'program', shared: 'shared', entries: [COMMANDS] },
  { name: 'gateway', shared: 'gateway', entries: GATEWAY },
  { name: 'sessions', shared: 'sessions', entries: SESSIONS },
];
const files = await mergeChunks(program, stages, { client: CLIENT, server: SERVER });
for (const [name, text] of files) {
  // Only where it is used: making it takes time.
  await writeFile(join('dist', name), /\btypeof require\b/.test(text) ? REQUIRE + text : text);
}

const page = await buildConsole();
await chmod('dist/cli.js', 0o755);
const inputs = [entry, program, page].flatMap(({ metafile }) => Object.keys(metafile.inputs));
await writeFile(join('dist', LICENSES), await bundledLicenses([...new Set(inputs)]));
await writeTypes('client/index', 'server/index');

// What is left of an earlier build goes last, so that a program that is started meanwhile finds all of one or the other.
const made = new Set(['types', 'console', LICENSES, 'cli.js', ...files.map(([name]) => name)]);
for (const file of before) if (!made.has(file)) await rm(join('dist', file), { recursive: true, force: true });

/** What is imported as `source` is imported as `file` when the program runs. */
function loadsLater(source, file) {
  return {
    name: 'loads-later',
    setup: ({ onResolve }) => {
      onResolve({ filter: /.*/ }, ({ path }) => (path === source ? { path: file, external: true } : undefined));
    },
  };
}

/** The page of the console: one script and one style sheet, beside files that are used as they are. */
async function buildConsole() {
  const built = await build({
    entryPoints: [
      { in: 'src/console/main.tsx', out: 'app' },
      { in: 'src/console/styles/app.css', out: 'app' },
    ],
    outdir: 'dist/console',
    bundle: true,
    platform: 'browser',
    format: 'esm',
    target: ['chrome120', 'firefox121', 'safari17'],
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
  });
  for (const file of ['index.html', 'icon.svg']) await copyFile(join('src/console', file), join('dist/console', file));
  return built;
}

/** Declarations of the entries and of what they mention; the compiler writes those of everything that is imported. */
async function writeTypes(...entries) {
  const from = 'node_modules/.cache/meanwhile-types';
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
  await promisify(execFile)(process.execPath, [tsc, '-p', 'tsconfig.types.json']);
  const wanted = [...entries];
  for (const name of wanted) {
    const text = await readFile(join(from, 'src', `${name}.d.ts`), 'utf8');
    for (const [, target] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.ts['"]/g)) {
      const path = join(dirname(name), target);
      if (!wanted.includes(path)) wanted.push(path);
    }
    const file = join('dist', 'types', `${name}.d.ts`);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text.replaceAll(/(['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2'));
  }
}

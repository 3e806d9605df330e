import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { findCycle, ROOT, sourceFiles, type SourceFile } from './support/imports.ts';

const files = await sourceFiles('src');
const product = files.filter(({ path }) => !path.endsWith('.test.ts'));

/** `core`, `north`, …; the two files of the composition count as folders. */
function folderOf(path: string): string | undefined {
  if (path === 'src/main.ts') return 'main';
  if (path === 'src/program.ts') return 'program';
  return /^src\/([a-z]+)\//.exec(path)?.[1];
}

/** Which other folders a folder may import. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  lib: [],
  core: ['lib'],
  north: ['core', 'lib'],
  south: ['core', 'lib'],
  client: ['core', 'lib', 'south'],
  store: ['core', 'lib'],
  config: ['core', 'lib'],
  telemetry: ['core', 'lib'],
  notify: ['core', 'lib'],
  auth: ['core', 'lib'],
  models: ['core', 'lib'],
  program: ['core', 'lib', 'north', 'store'],
  server: ['config', 'core', 'lib', 'north', 'program', 'store'],
  main: ['auth', 'config', 'core', 'lib', 'models', 'north', 'notify', 'program', 'south', 'store', 'telemetry'],
  demo: ['client', 'config', 'core', 'lib', 'main', 'cli'],
  cli: ['client', 'config', 'core', 'demo', 'lib', 'main'],
  // The page runs in a browser: only pure code is shared with it.
  console: ['lib'],
};

function forbiddenImports({ path, imports }: SourceFile): string[] {
  const folder = folderOf(path);
  if (folder === undefined) return [`${path} is in no folder`];
  const allowed = MAY_IMPORT[folder];
  if (allowed === undefined) return [`${path} is in the unknown folder ${folder}`];
  return imports.flatMap((target) => {
    const other = folderOf(target);
    if (other === undefined || other === folder || allowed.includes(other)) return [];
    return [`${path} imports ${target}`];
  });
}

test('walls: the folders of src are those of the architecture', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(new Set(product.map(({ path }) => folderOf(path)))).toEqual(new Set(Object.keys(MAY_IMPORT)));
});

test('walls: no folder imports a folder that it may not import', () => {
  expect(product.flatMap(forbiddenImports)).toEqual([]);
});

test('walls: docs/ARCHITECTURE.md lists the same folders and imports', async () => {
  const page = await readFile(join(ROOT, 'docs/ARCHITECTURE.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)(?:\/|\.ts)` \|.*\|([^|]*)\|$/gm)];
  const listed = rows.map(([, folder = '', imports = '']) => [folder, imports.split(',').map((each) => each.trim())]);
  const expected = Object.entries(MAY_IMPORT).map(([folder, imports]) => [
    folder,
    imports.length === 0 ? [''] : imports.toSorted(),
  ]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected));
});

test('walls: core imports only core, lib and Node', () => {
  const foreign = product
    .filter(({ path }) => folderOf(path) === 'core')
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => !/^src\/(core|lib)\/|^node:/.test(target))
        .map((target) => `${path} imports ${target}`),
    );
  expect(foreign).toEqual([]);
});

test('W-1: the form code imports only lib, so it runs in a browser', () => {
  const needed = new Set(product.filter(({ path }) => path.startsWith('src/lib/form/')).map(({ path }) => path));
  expect(needed.size).toBeGreaterThan(3);
  for (const path of needed) {
    for (const target of product.find((file) => file.path === path)?.imports ?? []) needed.add(target);
  }
  expect([...needed].filter((path) => !path.startsWith('src/lib/'))).toEqual([]);
});

test('walls: core does not mention eras, not even in comments', () => {
  const era = /legacy|modern|\b20\d\d-\d\d-\d\d\b/i;
  const found = product
    .filter(({ path }) => folderOf(path) === 'core')
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => (era.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
  expect(found).toEqual([]);
});

test('walls: the hub imports no listener and no era', () => {
  const found = product
    .filter(({ path }) => path.startsWith('src/north/hub/'))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => /^src\/north\/(http|stdio|legacy|modern)\//.test(target))
        .map((target) => `${path} imports ${target}`),
    );
  expect(found).toEqual([]);
});

test('walls: in north only the commit gate and /readyz wait for the store', () => {
  // `/readyz` asks whether the store can be written at all.
  const allowed = ['src/north/commit-gate.ts', 'src/north/http/listener.ts'];
  const waiting = product
    .filter(({ path, text }) => folderOf(path) === 'north' && /\bsettled\(\)/.test(text))
    .map(({ path }) => path);
  expect(waiting).toEqual(allowed);
  const replying = product.filter(
    ({ path, text }) => folderOf(path) === 'north' && /\bhandle: (?:async )?\(/.test(text),
  );
  expect(replying).toHaveLength(3);
  expect(replying.filter(({ text }) => !text.includes('replyWhenStored(')).map(({ path }) => path)).toEqual([]);
});

test('walls: only src/main.ts imports every part', () => {
  const inner = ['config', 'core', 'north', 'south', 'store'];
  const knowing = product
    .filter(({ imports }) => inner.every((folder) => imports.some((target) => folderOf(target) === folder)))
    .map(({ path }) => path);
  expect(knowing).toEqual(['src/main.ts']);
});

test('walls: no class extends a class of the SDK, except errors', () => {
  const found = product.flatMap(({ path, text }) => {
    const fromSdk = [...text.matchAll(/import \{([^}]*)\} from '@modelcontextprotocol/g)].map(([, names]) => names);
    return [...text.matchAll(/ extends (\w+)/g)]
      .flatMap(([, base = '']) => (new RegExp(`\\b${base}\\b`).test(fromSdk.join()) ? [base] : []))
      .filter((base) => !base.endsWith('Error'))
      .map((base) => `${path} extends ${base}`);
  });
  expect(found).toEqual([]);
});

test('walls: the code uses no private members of the SDK', () => {
  const found = product.flatMap(({ path, text }) =>
    [...text.matchAll(/\??\._(?!meta\b)\w+/g)].map(([member]) => `${path} uses ${member}`),
  );
  expect(found).toEqual([]);
});

test('V-2: metrics and traces are loaded on demand', () => {
  const others = product.filter(({ path }) => folderOf(path) !== 'telemetry');
  const mentioning = others.filter(({ text }) => text.includes('/telemetry/'));
  expect(mentioning.map(({ path }) => path)).toEqual(['src/main.ts']);
  const [main] = mentioning;
  expect(main?.text.match(/import\('\.\/telemetry\/start\.ts'\)/g)).toHaveLength(2);
  expect(main?.text).not.toMatch(/from '\.\/telemetry\//);
});

test('N-1: notifications are loaded on demand', () => {
  const others = product.filter(({ path }) => folderOf(path) !== 'notify');
  const mentioning = others.filter(({ text }) => /['/]notify\/start\.ts'/.test(text));
  expect(mentioning.map(({ path }) => path)).toEqual(['src/main.ts']);
  expect(mentioning[0]?.text.match(/import\('\.\/notify\/start\.ts'\)/g)).toHaveLength(2);
  expect(mentioning[0]?.text).not.toMatch(/^import (?!type ).*from '\.\/notify\//m);
});

/** What is loaded only where it is used: an idle gateway on SQLite has none of it in memory. */
const LOADED_LATER = [
  /^src\/(?:auth|telemetry|console|models|notify|south|core\/audit(?=\/(?!open))|store\/(?:audit|postgres))\//,
  /^src\/core\/(?:call|event|models|policy|access|quota|session(?=\/(?:session|composition|catalog|shared-connections)))\//,
  /^src\/north\/(?:all|answer|cluster|console|direct|hub|legacy|modern|mrtr|oauth|stdio)\//,
  /^node_modules\/(?:zod|undici|jose|nodemailer|postgres|@modelcontextprotocol)\//,
];

test('K-1, G-4: a gateway starts without loading its optional parts', async () => {
  const { metafile } = await build({
    entryPoints: ['src/cli/index.ts', 'src/cli/commands/serve.ts', 'src/cli/commands/stdio.ts'],
    outdir: 'dist',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    external: ['libsql'],
  });
  const { outputs } = metafile;
  const loaded = new Set(Object.keys(outputs).filter((path) => /\/(?:index|serve|stdio)\.js$/.test(path)));
  expect(loaded.size).toBe(3);
  for (const path of loaded) {
    for (const { kind, path: target, external } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && external !== true) loaded.add(target);
    }
  }
  const sources = [...loaded].flatMap((path) => Object.entries(outputs[path]?.inputs ?? {}));
  const needed = sources.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([source]) => source);
  expect(needed).toContain('src/core/gateway.ts');
  expect(needed.filter((source) => LOADED_LATER.some((pattern) => pattern.test(source)))).toEqual([]);
});

test('walls: there are no import cycles', () => {
  expect(findCycle(files)).toBeUndefined();
});

test('walls: the import checks find imports, cycles and violations', () => {
  const main = product.find(({ path }) => path === 'src/main.ts');
  expect(main?.imports).toEqual(expect.arrayContaining(['src/program.ts', 'src/store/sqlite/store.ts']));
  const cli = product.find(({ path }) => path === 'src/cli/run.ts');
  expect(cli?.imports).toContain('src/cli/commands/serve.ts');
  const fake = (path: string, ...imports: string[]): SourceFile => ({ path, text: '', imports });
  expect(findCycle([fake('a', 'b'), fake('b', 'c'), fake('c', 'b')])).toEqual(['b', 'c', 'b']);
  expect(forbiddenImports(fake('src/core/x.ts', 'src/north/hub/hub.ts'))).toHaveLength(1);
});

/** Files whose timers wait for the operating system, which no clock of ours can move. */
const REAL_TIME = ['src/north/http/response.ts', 'src/north/http/unread.ts'];

test('walls: core, north, south and notify use a clock that tests can replace', () => {
  const real = /\b(?:setTimeout|setInterval)\(|Date\.now\(|AbortSignal\.timeout\(|setTimeout as /;
  const found = product
    .filter(({ path }) => ['core', 'north', 'south', 'notify'].includes(folderOf(path) ?? ''))
    .filter(({ text }) => text.split('\n').some((line) => real.test(line) && !/^\s*(?:\/\/|\*)/.test(line)))
    .map(({ path }) => path);
  expect(found.toSorted()).toEqual(REAL_TIME);
});

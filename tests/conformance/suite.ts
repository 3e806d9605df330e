/** The official conformance suite, brought here on first use. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProgram } from '../support/bundle-program.ts';
import { alone, installBeside } from '../support/side-package.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const MODULES = join(FOLDER, 'node_modules');
const PACKAGE = '@modelcontextprotocol/conformance';
const SCRIPT = join(MODULES, PACKAGE, 'dist/index.js');
/** Beside the original, because it looks for its requirements from there. */
const BUNDLE = join(MODULES, PACKAGE, 'dist/bundle.cjs');

export type Revision = '2025-11-25' | '2026-07-28';

/** What a revision of the protocol asks of clients and of servers; beside it, what is run there without counting. */
export interface RequirementSet {
  client: string[];
  server: string[];
  not_scored: { scenario: string; leg: string; reason: string }[];
}

export interface Output {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Check {
  id: string;
  name: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  description: string;
  errorMessage?: string;
}

/** What the suite found in one scenario that came to its end. */
export interface ScenarioResult {
  scenario: string;
  checks: Check[];
  /** What the client wrote there, if it was a client that was judged. */
  stdout: string;
}

export interface Suite {
  /** Ended after `timeoutMs`, if it takes longer. */
  run(args: string[], timeoutMs?: number): Promise<Output>;
  /** For commands that run many scenarios: what was found in each of them. */
  results(args: string[], timeoutMs?: number): Promise<ScenarioResult[]>;
  requirements(revision: Revision): RequirementSet;
}

/** Needs the network once. */
export async function openSuite(): Promise<Suite> {
  const isReady = (): boolean => isInstalled() && existsSync(BUNDLE);
  if (!isReady()) {
    await alone('conformance', isReady, async () => {
      if (!isInstalled()) await installBeside(FOLDER, 'conformance', []);
      await bundleProgram(SCRIPT, BUNDLE, { args: ['list'] });
    });
  }
  return {
    run,
    results: async (args, timeoutMs) => {
      const folder = await mkdtemp(join(tmpdir(), 'meanwhile-conformance-'));
      try {
        await run([...args, '--output-dir', folder], timeoutMs);
        return await readResults(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    requirements: (revision) => {
      const { parse } = createRequire(join(MODULES, 'index.js'))('yaml') as { parse: (text: string) => RequirementSet };
      return parse(readFileSync(join(MODULES, PACKAGE, 'requirements', `${revision}.yaml`), 'utf8'));
    },
  };
}

const run: Suite['run'] = async (args, timeout = 0) => {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [BUNDLE, ...args],
      { env: { PATH, HOME }, maxBuffer: 64 * 1024 * 1024, timeout },
      (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : 1;
        resolve({ code: error === null ? 0 : code, stdout, stderr });
      },
    );
  });
};

/** The suite leaves them in `<scenario>-<time>/checks.json`; the name of a scenario may have a slash in it. */
async function readResults(folder: string): Promise<ScenarioResult[]> {
  const files = await readdir(folder, { recursive: true });
  const text = async (file: string): Promise<string> =>
    files.includes(file) ? readFile(join(folder, file), 'utf8') : '';
  const found = files.filter((file) => basename(file) === 'checks.json').map(dirname);
  return Promise.all(
    found.map(async (name) => ({
      scenario: name.replaceAll(sep, '/').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''),
      checks: JSON.parse(await text(join(name, 'checks.json'))) as Check[],
      stdout: await text(join(name, 'stdout.txt')),
    })),
  );
}

function isInstalled(): boolean {
  const installed = join(MODULES, PACKAGE, 'package.json');
  if (!existsSync(installed)) return false;
  const { dependencies } = readJson(join(FOLDER, 'package.json')) as { dependencies: Record<string, string> };
  return dependencies[PACKAGE] === (readJson(installed) as { version: string }).version;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

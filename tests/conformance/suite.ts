/** The official conformance suite, brought here on first use. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
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

export interface Suite {
  /** Ended after `timeoutMs`, if it takes longer. */
  run(args: string[], timeoutMs?: number): Promise<Output>;
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
  const { PATH = '', HOME = '' } = process.env;
  return {
    run: async (args, timeout = 0) =>
      new Promise((resolve) => {
        execFile(
          process.execPath,
          [BUNDLE, ...args],
          { env: { PATH, HOME }, maxBuffer: 64 * 1024 * 1024, timeout },
          (error, stdout, stderr) => {
            const code = typeof error?.code === 'number' ? error.code : 1;
            resolve({ code: error === null ? 0 : code, stdout, stderr });
          },
        );
      }),
    requirements: (revision) => {
      const { parse } = createRequire(join(MODULES, 'index.js'))('yaml') as { parse: (text: string) => RequirementSet };
      return parse(readFileSync(join(MODULES, PACKAGE, 'requirements', `${revision}.yaml`), 'utf8'));
    },
  };
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

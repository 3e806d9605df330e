/** The official conformance suite: brought here on first use, and started with a Node that is new enough for it. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { alone, installBeside, WORKSHOP } from '../support/side-package.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const MODULES = join(FOLDER, 'node_modules');
const PACKAGE = '@modelcontextprotocol/conformance';
const SCRIPT = join(MODULES, PACKAGE, 'dist/index.js');
/** One file of it, beside the original because it looks for its requirements from there: it starts in half the time. */
const BUNDLE = join(MODULES, PACKAGE, 'dist/bundle.mjs');
const OLDEST_NODE = 22;
/** In megabytes: the suite starts often, and builds so many schemas then that a fifth of its time would be garbage collection. */
const YOUNG_GENERATION = ['--min-semi-space-size=32', '--max-semi-space-size=32'];

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
  const ownNode = Number(process.versions.node.split('.')[0]) >= OLDEST_NODE;
  const node = ownNode ? process.execPath : packagedNode();
  const isThere = (): boolean => isInstalled() && existsSync(node);
  const isReady = (): boolean => isThere() && existsSync(BUNDLE);
  if (!isReady()) {
    await alone('conformance', isReady, async () => {
      if (!isThere()) await installBeside(FOLDER, 'conformance', ownNode ? ['--omit=optional'] : []);
      await bundleSuite();
    });
  }
  if (!existsSync(node)) throw new Error(`the conformance suite needs Node ${OLDEST_NODE} or newer`);
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, NODE_COMPILE_CACHE: join(WORKSHOP, 'conformance-cache') };
  return {
    run: async (args, timeout = 0) =>
      new Promise((resolve) => {
        execFile(
          node,
          [...YOUNG_GENERATION, BUNDLE, ...args],
          { env, maxBuffer: 64 * 1024 * 1024, timeout },
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

/** The Node that npm installs beside the suite, where there is one for this platform. */
function packagedNode(): string {
  const { platform, arch } = process;
  if (platform === 'win32') return join(MODULES, `node-win-${arch}`, 'bin', 'node.exe');
  const prefix = platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node';
  return join(MODULES, `${prefix}-${platform}-${arch}`, 'bin', 'node');
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

async function bundleSuite(): Promise<void> {
  const unfinished = `${BUNDLE}.${process.pid}`;
  await build({
    entryPoints: [SCRIPT],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: `node${OLDEST_NODE}`,
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    logLevel: 'error',
  });
  await rename(unfinished, BUNDLE);
}

/** Programs that tests start, from the bundles made by `build.ts`, and configurations that start the test servers. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Manner } from '../servers/liar.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const BUNDLES = join(root, 'node_modules/.cache/meanwhile-tests');

/** The program from the same sources as the built one, as one file with a code cache: it starts in half the time. */
export const QUICK_PROGRAM = join(BUNDLES, 'program.cjs');

/** In the environment of the program: a heap so small that it does not hold all that an attacker can send. */
export const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=512' };

export type BundledServer =
  | 'v1-stdio'
  | 'v2-stdio'
  | 'tasks-v1-stdio'
  | 'tasks-v2-stdio'
  | 'liar-stdio'
  | 'rich-stdio'
  | 'receiver-driver-stdio'
  | 'conformance-modern-stdio'
  | 'conformance-legacy-stdio';

export interface StdioServerConfig {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

export function sourcePath(name: BundledServer): string {
  return join(root, 'tests/servers', `${name}.ts`);
}

export function bundlePath(name: BundledServer): string {
  return join(BUNDLES, `${name}.cjs`);
}

export function v1Stdio(env: Record<string, string> = {}): StdioServerConfig {
  return { command: process.execPath, args: [bundlePath('v1-stdio')], env };
}

export function v2Stdio(env: Record<string, string> = {}): StdioServerConfig {
  return { command: process.execPath, args: [bundlePath('v2-stdio')], env };
}

export function tasksV1Stdio(env: Record<string, string> = {}): StdioServerConfig {
  return { command: process.execPath, args: [bundlePath('tasks-v1-stdio')], env };
}

export function tasksV2Stdio(env: Record<string, string> = {}): StdioServerConfig {
  return { command: process.execPath, args: [bundlePath('tasks-v2-stdio')], env };
}

export function liarStdio(manner: Manner): StdioServerConfig {
  return { command: process.execPath, args: [bundlePath('liar-stdio')], env: { TEST_MANNER: manner } };
}

export function conformanceStdio(era: 'modern' | 'legacy'): StdioServerConfig {
  return { command: process.execPath, args: [bundlePath(`conformance-${era}-stdio`)], env: {} };
}

/** The built program with a small heap, a hostile server, and an honest client that goes on working meanwhile. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { configFile, temporaryFolder, type Servers, type SettingsInput } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { serveProgram, type Serving } from '../../support/program.ts';
import { SMALL_HEAP, v1Stdio, type StdioServerConfig } from '../../support/servers.ts';

export const MEGABYTE = 2 ** 20;

/** For the whole of an attack; a gateway that is down fails the test sooner. */
export const ATTACK_MS = 60_000;

/** The requirement is a second; a shared machine gets more. */
const SLOWEST_MS = 8000;

/** Between two calls of the honest client, which is not the one that keeps the machine busy. */
const PAUSE_MS = 100;

const LOOP_STALLS = new URL('loop-stalls.mjs', import.meta.url).href;

export type HostileMode = '' | 'pages' | 'long-name' | 'many-names';

export function hostileChild(mode: HostileMode = ''): StdioServerConfig {
  const path = fileURLToPath(new URL('hostile-child.mjs', import.meta.url));
  return { command: process.execPath, args: [path], env: { HOSTILE_MODE: mode } };
}

export interface Attacked {
  program: Serving;
  url: string;
  config: string;
  /** A client of the hub that uses the hostile server. */
  hub: HubClient;
  storeBytes(): Promise<number>;
  /** For how long at most one turn of the gateway's event loop has kept the processor busy. */
  longestStallMs(): Promise<number>;
  /** Ends the honest client's work: all its calls were answered, none of them late, and the gateway is alive. */
  expectUnharmed(): Promise<void>;
}

/** Starts the gateway with the servers `bad` and `fine`; an honest client calls `fine` from now on. */
export async function attacked(bad: Servers[string], settings: SettingsInput = {}): Promise<Attacked> {
  const folder = await temporaryFolder();
  const [store, stalls] = [join(folder, 'store.db'), join(folder, 'stalls')];
  const config = await configFile({ bad, fine: v1Stdio() }, { store, logLevel: 'warn', ...settings });
  const program = await serveProgram(['--config', config, '--log-level', 'info'], {
    env: { NODE_OPTIONS: `${SMALL_HEAP.NODE_OPTIONS} --import ${LOOP_STALLS}`, STALLS_FILE: stalls },
  });
  const hub = await hubOverHttp(program.url);
  const honest = await startHonest(program.url);
  return {
    program,
    url: program.url,
    config,
    hub,
    storeBytes: () => bytesOf(store),
    longestStallMs: async () => Number(await readFile(stalls, 'utf8')),
    expectUnharmed: async () => {
      const { calls, slowestMs, failure } = await honest.stop();
      expect(failure, program.stderr.slice(-5).join('\n').slice(-2000)).toBeUndefined();
      expect(calls).toBeGreaterThan(0);
      expect(slowestMs).toBeLessThan(SLOWEST_MS);
      expect(program.child.exitCode).toBeNull();
    },
  };
}

export async function bytesOf(store: string): Promise<number> {
  const sizes = await Promise.all(
    ['', '-wal'].map((end) =>
      stat(store + end).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

interface Honest {
  stop(): Promise<{ calls: number; slowestMs: number; failure: unknown }>;
}

async function startHonest(url: string): Promise<Honest> {
  const client = await hubOverHttp(url);
  let calls = 0;
  let slowestMs = 0;
  const over = new AbortController();
  const work = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const begun = Date.now();
      const args = { server: 'fine', tool: 'echo', args: { text: `call ${calls}` } };
      const { text } = await client.call('execute_tool', args, { timeout: ATTACK_MS });
      if (text !== `call ${calls}`) throw new Error(`call ${calls} was answered with ${text.slice(0, 500)}`);
      calls += 1;
      slowestMs = Math.max(slowestMs, Date.now() - begun);
      await delay(PAUSE_MS);
    }
  };
  const failure = work().then(
    () => undefined,
    (error: unknown) => error,
  );
  return {
    stop: async () => {
      over.abort();
      return { failure: await failure, calls, slowestMs };
    },
  };
}

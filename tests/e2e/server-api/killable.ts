/** The application as a program that is stopped and started again on the same store and port. The test owns it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { bundleProgram } from '../../support/bundle-program.ts';
import type { StdioServerConfig } from '../../support/servers.ts';
import { ROOT } from '../../support/imports.ts';
import { temporaryFolder } from '../../support/gateway.ts';
import { defer } from '../../support/owned.ts';
import { soon } from '../flows/watch.ts';
import { freePort } from '../../support/port-to-return-to.ts';

const PROGRAM = join(ROOT, 'node_modules/.cache/meanwhile-tests/server-api.cjs');

export async function bundleApp(): Promise<void> {
  const warmUp = { args: ['stdio', ':memory:', tmpdir()], request: { method: 'tools/list' } };
  await bundleProgram(join(ROOT, 'tests/e2e/server-api/program.ts'), PROGRAM, warmUp);
}

export class KillableApp {
  readonly url: string;
  readonly store: string;
  readonly #port: number;
  readonly #folder: string;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #starts = 0;

  private constructor(port: number, folder: string) {
    this.#port = port;
    this.#folder = folder;
    this.store = storeIn(folder);
    this.url = `http://127.0.0.1:${port}/mcp`;
  }

  static async start(): Promise<KillableApp> {
    const app = new KillableApp(await freePort(), await temporaryFolder());
    defer(() => app.kill());
    await app.start();
    return app;
  }

  async start(): Promise<void> {
    this.#starts += 1;
    const child = spawn(process.execPath, argsFor(String(this.#port), this.#folder), { stdio: 'inherit' });
    this.#child = child;
    this.#exited = once(child, 'exit').then(([code]) => code as unknown);
    await expect.poll(() => this.journal('listening').length, { timeout: 15_000, interval: 50 }).toBe(this.#starts);
  }

  /** At once: whatever it has not written by now, it never will. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#exited;
  }

  /** Asks it to end; its exit code. */
  async stop(): Promise<unknown> {
    this.#child?.kill('SIGTERM');
    return this.#exited;
  }

  /** What it has noted, over all runs. */
  journal(...kinds: string[]): string[] {
    const file = join(this.#folder, 'journal');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
    return lines.filter((line) => kinds.some((kind) => line.startsWith(kind)));
  }

  async noted(...lines: string[]): Promise<void> {
    await soon(() => this.journal('begun', 'answered')).toEqual(lines);
  }

  /** Lets the work end. */
  async openGate(): Promise<void> {
    await writeFile(join(this.#folder, 'open'), '');
  }
}

/** How to start it for a client on standard input and output. */
export async function stdioApp(): Promise<StdioServerConfig> {
  return { command: process.execPath, args: argsFor('stdio', await temporaryFolder()), env: {} };
}

function argsFor(door: string, folder: string): string[] {
  return [PROGRAM, door, storeIn(folder), folder];
}

const storeIn = (folder: string): string => join(folder, 'store.db');

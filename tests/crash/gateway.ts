/** The program on a port and a store of its own, to be killed and started again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../src/core/ports/server-config.ts';
import { clockAhead } from '../support/clock-ahead.ts';
import { freePort } from '../support/port-to-return-to.ts';

const BUILT = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const START_MS = 20_000;
const STOP_MS = 10_000;
const LINES_KEPT = 5000;

export interface GatewayOptions {
  /** Its path; by default that of the built program. */
  program?: string;
  folder: string;
  /** By default a file in the folder. */
  store?: string;
  servers: Record<string, ServerConfig>;
  settings: Record<string, unknown>;
}

const running = new Set<ChildProcess>();

// Whatever way the test ends, nothing outlives it.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class KillableGateway {
  readonly url: string;
  readonly store: string;
  /** The last lines it has logged, over all runs. */
  readonly log: string[] = [];
  /** Counts the starts. */
  run = 0;
  #child: ChildProcess | undefined;
  #exited: Promise<number | null> = Promise.resolve(0);
  #up = false;
  #whenUp: (() => void)[] = [];
  readonly #program: string;
  readonly #config: string;
  readonly #folder: string;

  private constructor(port: number, { program = BUILT, folder, store = join(folder, 'store.db') }: GatewayOptions) {
    this.#program = program;
    this.url = `http://127.0.0.1:${port}/mcp`;
    this.store = store;
    this.#config = join(folder, 'meanwhile.json');
    this.#folder = folder;
  }

  static async prepare(options: GatewayOptions): Promise<KillableGateway> {
    const port = await freePort();
    const gateway = new KillableGateway(port, options);
    const meanwhile = { port, store: gateway.store, ...options.settings };
    await writeFile(gateway.#config, JSON.stringify({ mcpServers: options.servers, meanwhile }));
    return gateway;
  }

  /**
   * Resolves once it listens, or with `false` when it was killed before that. Its clock may be ahead, as if time had passed
   * since it was there last.
   */
  async start(aheadMs = 0): Promise<boolean> {
    // The port is in use until the last one is gone, which takes a moment after it was killed.
    await this.#exited;
    this.run += 1;
    const child = spawn(process.execPath, [this.#program, 'serve', '--config', this.#config], {
      cwd: this.#folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: this.#folder, ...clockAhead(aheadMs) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    this.#exited = once(child, 'exit').then(([code]) => code as number | null);
    let late: NodeJS.Timeout | undefined;
    const listening = new Promise<boolean>((resolve, reject) => {
      late = setTimeout(() => reject(new Error(`the gateway did not start:\n${this.#lastLines()}`)), START_MS);
      createInterface({ input: child.stderr }).on('line', (line) => {
        this.#keep(line);
        if (line.includes('"listening"')) resolve(true);
      });
      void this.#exited.then((code) => {
        if (code === null) resolve(false);
        else reject(new Error(`the gateway ended with ${code}:\n${this.#lastLines()}`));
      });
    });
    this.#up = await listening.finally(() => clearTimeout(late));
    if (this.#up) for (const tell of this.#whenUp.splice(0)) tell();
    return this.#up;
  }

  /** At once: whatever it has not written by now, it never will. */
  kill(): void {
    this.#up = false;
    this.#child?.kill('SIGKILL');
  }

  /** It does nothing, and does not know it, until it is resumed. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** It runs, and was not asked to end. */
  get isUp(): boolean {
    return this.#up;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async gone(): Promise<number | null> {
    return this.#exited;
  }

  /** Asks it to end; its exit code. */
  async stop(): Promise<number | null> {
    this.#up = false;
    this.#child?.kill('SIGTERM');
    const late = setTimeout(() => this.#child?.kill('SIGKILL'), STOP_MS);
    return this.#exited.finally(() => clearTimeout(late));
  }

  async up(): Promise<void> {
    if (this.#up) return;
    await new Promise<void>((resolve) => {
      this.#whenUp.push(resolve);
    });
  }

  #keep(line: string): void {
    this.log.push(`${this.run} ${line}`);
    if (this.log.length > LINES_KEPT) this.log.splice(0, this.log.length - LINES_KEPT);
  }

  #lastLines(): string {
    return this.log.slice(-20).join('\n');
  }
}

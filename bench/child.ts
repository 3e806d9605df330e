/** Child processes that can be asked what they have used, and that go when the benchmark goes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

export const PROGRAM = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

export interface Usage {
  /** User and system time so far. */
  cpuMs: number;
  rssBytes: number;
}

/** After everything was thrown away that can be, if the child was started with `--expose-gc`. */
export interface Memory {
  rssBytes: number;
  /** With buffers and other memory that objects of the heap hold. */
  heapBytes: number;
  /** What keeps it running, by kind. */
  handles: Record<string, number>;
}

export interface ChildOptions {
  execArgv?: string[];
  /** Where it will answer, for a program that does not say so itself. */
  url?: string;
  /** Its standard input and output are for the one who started it. */
  piped?: boolean;
}

const LOOK_MS = 50;

/** Loaded into each child before its program. The listener alone does not keep it running. */
const REPORTER = `
  let watching = false;
  let lastTurn = 0;
  let longest = 0;
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - lastTurn);
    lastTurn = now;
    if (watching) setImmediate(turn);
  };
  const answers = {
    watch: () => {
      watching = true;
      longest = 0;
      lastTurn = performance.now();
      setImmediate(turn);
      return 'watching';
    },
    longestTurn: () => {
      watching = false;
      return longest;
    },
    usage: () => {
      const { user, system } = process.cpuUsage();
      return { cpuMs: (user + system) / 1000, rssBytes: process.memoryUsage.rss() };
    },
    memory: () => {
      globalThis.gc?.();
      const { rss, heapUsed, external } = process.memoryUsage();
      const handles = {};
      for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
      return { rssBytes: rss, heapBytes: heapUsed + external, handles };
    },
  };
  process.on('message', (message) => {
    if (message in answers) process.send(answers[message]());
  });
  process.on('disconnect', () => process.exit(1));
`;
const REPORTER_URL = `data:text/javascript,${encodeURIComponent(REPORTER)}`;

const running = new Set<ChildProcess>();

// Whatever way the benchmark ends, nothing outlives it.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class Child {
  readonly #process: ChildProcess;
  readonly url: Promise<string>;

  /** `url` is what the child sends as `{url}`, or the address in its log. */
  constructor(args: string[], { execArgv = [], url, piped = false }: ChildOptions = {}) {
    const stdout = url === undefined ? 'inherit' : 'ignore';
    this.#process = spawn(process.execPath, [...execArgv, '--import', REPORTER_URL, ...args], {
      stdio: piped ? ['pipe', 'pipe', 'inherit', 'ipc'] : ['ignore', stdout, 'pipe', 'ipc'],
    });
    running.add(this.#process);
    this.#process.once('exit', () => running.delete(this.#process));
    if (piped) this.url = Promise.resolve('stdio:');
    else this.url = url === undefined ? this.#address() : this.#answersAt(url);
  }

  get pipes(): { stdin: Writable; stdout: Readable } {
    const { stdin, stdout } = this.#process;
    if (stdin === null || stdout === null) throw new Error('this child is not piped');
    return { stdin, stdout };
  }

  async usage(): Promise<Usage> {
    return this.ask('usage');
  }

  async memory(): Promise<Memory> {
    return this.ask('memory');
  }

  /** Looks at the turns of its event loop from now on. */
  async watchTurns(): Promise<void> {
    await this.ask('watch');
  }

  /** The longest of them, in milliseconds: for so long nothing else was done. */
  async longestTurn(): Promise<number> {
    return this.ask('longestTurn');
  }

  /** One question at a time. */
  async ask<T>(question: string): Promise<T> {
    const answer = once(this.#process, 'message') as Promise<[T]>;
    this.#process.send(question);
    return (await answer)[0];
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (!running.has(this.#process)) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill(signal);
    await gone;
  }

  async #address(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#process.once('message', (message: { url: string }) => resolve(message.url));
      this.#process.once('exit', (code) => reject(new Error(`a child ended early with ${code}`)));
      if (this.#process.stderr === null) return;
      createInterface({ input: this.#process.stderr }).on('line', (line) => {
        const address = /"event":"listening".*"url":"([^"]+)"/.exec(line)?.[1];
        if (address !== undefined) resolve(address);
        else if (!line.includes('"level":"info"')) process.stderr.write(`${line}\n`);
      });
    });
  }

  async #answersAt(url: string): Promise<string> {
    let said = '';
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-1000);
    });
    for (;;) {
      if (!running.has(this.#process)) throw new Error(`a child ended early: ${said}`);
      const answered = await fetch(url).then(
        async (response) => response.body?.cancel().then(() => true),
        () => false,
      );
      if (answered) return url;
      await delay(LOOK_MS);
    }
  }
}

/** A helper of the benchmark, written in TypeScript, and compiled first: what tsx adds to functions costs time in each call. */
export function script(name: string, ...args: string[]): Child {
  return new Child([compiled(name), ...args]);
}

export function compiled(name: string): string {
  const outfile = fileURLToPath(
    new URL(`../node_modules/.cache/meanwhile-bench/${name.replace('.ts', '.mjs')}`, import.meta.url),
  );
  const entry = fileURLToPath(new URL(name, import.meta.url));
  const options = { bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20' } as const;
  buildSync({ entryPoints: [entry], outfile, ...options });
  return outfile;
}

/**
 * What has been added for each of so many. Memory that the heap has given back stays with the process for a while, so new
 * objects may take nothing more from the system: then the objects themselves count.
 */
export function bytesForEach(before: Memory, after: Memory, count: number): number {
  return Math.max(after.rssBytes - before.rssBytes, after.heapBytes - before.heapBytes) / count;
}

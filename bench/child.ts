/** Child processes that can be asked what they have used, and that go when the benchmark goes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

export interface Usage {
  /** User and system time so far. */
  cpuMs: number;
  rssBytes: number;
}

/** Loaded into each child before its program. The listener alone does not keep it running. */
const REPORTER = `
  process.on('message', (message) => {
    if (message !== 'usage') return;
    const { user, system } = process.cpuUsage();
    process.send({ usage: { cpuMs: (user + system) / 1000, rssBytes: process.memoryUsage.rss() } });
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
  constructor(args: string[], execArgv: string[] = []) {
    this.#process = spawn(process.execPath, [...execArgv, '--import', REPORTER_URL, ...args], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    running.add(this.#process);
    this.#process.once('exit', () => running.delete(this.#process));
    this.url = this.#address();
  }

  async usage(): Promise<Usage> {
    const answer = once(this.#process, 'message') as Promise<[{ usage: Usage }]>;
    this.#process.send('usage');
    return (await answer)[0].usage;
  }

  async stop(): Promise<void> {
    if (!running.has(this.#process)) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
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
}

/** A helper of the benchmark, written in TypeScript. */
export function script(name: string, ...args: string[]): Child {
  return new Child([fileURLToPath(new URL(name, import.meta.url)), ...args], ['--import', 'tsx']);
}

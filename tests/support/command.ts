/**
 * A command of the program in this process: for tests of what it prints and returns, in a tenth of the time. What depends on
 * the process itself, such as its signals, pipes and end, is for `program.ts`.
 */
import { Readable, Writable } from 'node:stream';
import { run } from '../../src/cli/run.ts';
import { temporaryFolder } from './gateway.ts';
import { QUICK_PROGRAM } from './servers.ts';

export interface CommandOptions {
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Commands run one after the other: each has the standard streams for itself. */
let last: Promise<unknown> = Promise.resolve();

export async function runCommand(
  args: string[],
  { env = {}, cwd, input = '' }: CommandOptions = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const home = await temporaryFolder();
  const ran = last.then(async () => {
    const [stdout, stderr] = [new Output(), new Output()];
    const restore = replaceProcess({
      stdin: Readable.from([input]),
      stdout,
      stderr,
      // Nothing of the machine's own configuration and no store of its user.
      env: { PATH: process.env['PATH'] ?? '', HOME: home, ...env },
      argv: [process.execPath, QUICK_PROGRAM, ...args],
    });
    const before = process.cwd();
    process.chdir(cwd ?? home);
    try {
      const code = await run(args);
      return { code, stdout: stdout.text(), stderr: stderr.text() };
    } finally {
      process.chdir(before);
      restore();
    }
  });
  last = ran.catch(() => {});
  return ran;
}

/** What the command sees of its process. */
function replaceProcess(seen: Record<string, unknown>): () => void {
  const before = Object.keys(seen).map((name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const);
  const listening = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
  for (const [name, value] of Object.entries(seen)) {
    Object.defineProperty(process, name, { value, configurable: true, writable: true, enumerable: true });
  }
  return () => {
    for (const [name, descriptor] of before) if (descriptor) Object.defineProperty(process, name, descriptor);
    // A process that ends removes no listeners.
    for (const [signal, listeners] of listening) {
      for (const listener of process.listeners(signal)) {
        if (!listeners.includes(listener)) process.off(signal, listener);
      }
    }
  };
}

class Output extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  /** Without the end of the last line. */
  text(): string {
    return Buffer.concat(this.#chunks).toString().replace(/\n$/, '');
  }
}

import { existsSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { CommandServerConfig } from '../../core/ports/server-config.ts';
import { drained } from '../../lib/drained.ts';
import { ServerFailure } from '../../lib/server-failure.ts';
import { within } from '../../lib/timers.ts';
import { Unreachable } from './broken-wire.ts';
import { ChildOutput } from './child-output.ts';
import { inheritedEnvironment } from './child-environment.ts';
import { lastWords } from './last-words.ts';
import { onLines } from './lines.ts';
import type { MessageLimit } from './message-size.ts';
import { handleOversize, type OversizeMessage } from './oversize-message.ts';
import { parseMessage, type MessageReader } from './message.ts';
import { watchGroup } from './reaper.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { ServerTransport } from './transport.ts';

const GRACE_MS = 1000;
/** How many lines of output are kept to explain an exit. */
const LAST_LINES = 40;
const NOISE_SHOWN = 200;
/** How much is queued for a child that does not read; beyond, the child is killed. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/** The stream on which a child wrote text that is not a message. */
export type ChildStream = 'stderr' | 'stdout';

/**
 * A server as a child process in its own process group, so that the processes that it starts end with it. Its
 * standard error is always read: a full pipe would stop the child.
 */
export class ChildTransport implements ServerTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<ServerTransport['onmessage']>;
  /** One line the child wrote to standard error, or to standard output without being a message. */
  onnoise: (line: string, stream: ChildStream) => void = () => {};
  /** The process has ended. Called before `onclose`, with which the questions of the server are withdrawn. */
  onexit: (how: string) => void = () => {};
  #child: ChildProcess | undefined;
  #closing = false;
  #lastWords: string[] = [];
  /** The first line on standard output that was not a message. */
  #stray: string | undefined;
  #killedBecause: string | undefined;
  /** How the process ended, if it was not stopped by us. */
  #died: string | undefined;
  /** It has exited, so the system may give its id to another process. */
  #isGone = false;
  #exited: Promise<string> = Promise.resolve('not started');
  readonly #config: CommandServerConfig;
  readonly #limit: MessageLimit;
  #output: ChildOutput | undefined;
  readonly #reader: MessageReader = {
    onMessage: (message) => this.onmessage?.(message, 'any'),
    onMistake: (_mistake, line) => this.#noise(line),
  };

  constructor(config: CommandServerConfig, limit: MessageLimit) {
    this.#config = config;
    this.#limit = limit;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get isBehind(): boolean {
    return this.#output?.isBehind === true;
  }

  get received(): number {
    return this.#output?.received ?? 0;
  }

  /** How the process ended. */
  get exited(): Promise<string> {
    return this.#exited;
  }

  async start(): Promise<void> {
    const child = this.#spawn();
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error: NodeJS.ErrnoException) => {
        reject(startFailure(this.#config, error));
      });
    });
    child.on('error', (error) => this.onerror?.(error));
    child.stdin.on('error', (error) => this.onerror?.(error));
    // Each message that waits to be written adds a listener; many listeners are not a leak.
    child.stdin.setMaxListeners(0);
    const output = new ChildOutput(child.stdout, this.#limit, {
      onLine: (line) => this.#line(line),
      onError: (error) => this.onerror?.(error),
    });
    this.#output = output;
    onLines(child.stderr, (line) => {
      this.#lastWords = [...this.#lastWords, line].slice(-LAST_LINES);
      this.onnoise(line, 'stderr');
    });
    const unwatch = watchGroup(child.pid ?? 0);
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        // Processes that the child started must not outlive it.
        this.#signalGroup('SIGKILL');
        this.#isGone = true;
        unwatch();
        const how =
          this.#killedBecause ??
          (signal === null ? `process exited with code ${code}` : `process was killed by ${signal}`);
        if (!this.#closing) this.#died = how;
        // Its last output may still be in the pipes.
        const closed = new Promise((done) => {
          child.once('close', done);
        });
        void output.readRest(closed).then(() => {
          resolve(how);
          this.onexit(how);
          this.#ended();
        });
      });
    });
  }

  #spawn(): ChildProcessWithoutNullStreams {
    const { command, args = [], env, cwd } = this.#config;
    try {
      return spawn(command, args, {
        env: { ...inheritedEnvironment(), ...env },
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: process.platform !== 'win32',
        windowsHide: true,
        ...(cwd !== undefined && { cwd }),
      });
    } catch {
      // Without the cause, which quotes the invalid value: that may be a secret.
      throw new ServerFailure(
        'other',
        `command '${command}' cannot be started with its arguments, environment or folder`,
      );
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    // Its exit is reported a moment later: the message was not sent, and may be sent to the next process.
    if (!stdin?.writable) throw new Unreachable('exited', 'the server process is gone', true, undefined);
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      this.#killedBecause = 'process was killed because it does not read its standard input';
      this.#signalGroup('SIGKILL');
      throw new ServerFailure('exited', this.#killedBecause);
    }
    this.#holdBack(stdin);
    if (!stdin.write(`${stringifyExact(message)}\n`)) await drained(stdin);
  }

  /** The messages of one turn of the event loop are written at once: each write to a pipe is expensive. */
  #holdBack(stdin: Writable): void {
    if (stdin.writableCorked > 0) return;
    stdin.cork();
    setImmediate(() => stdin.uncork());
  }

  /** Adds the end of the process and its last words to a failed connection. */
  explain(failure: ServerFailure): ServerFailure {
    if (this.#died === undefined && this.#lastWords.length === 0 && this.#stray === undefined) return failure;
    const words = lastWords(this.#lastWords);
    const said = [
      this.#died ?? failure.message,
      ...(this.#stray === undefined
        ? []
        : [`it printed to standard output, which is reserved for messages: ${JSON.stringify(this.#stray)}`]),
      ...(words === '' ? [] : [`its last output: ${words}`]),
    ];
    const kind = this.#died !== undefined ? 'exited' : this.#stray !== undefined ? 'stray_output' : failure.failure;
    return new ServerFailure(kind, said.join('; '), { cause: failure.cause });
  }

  /** Closes standard input, then sends SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#closing) return;
    this.#closing = true;
    child.stdin?.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if ((await within(GRACE_MS, this.#exited)) === undefined) this.#signalGroup(signal);
    }
    await this.#exited;
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined || this.#isGone) return;
    try {
      if (process.platform === 'win32') this.#child?.kill(signal);
      else process.kill(-pid, signal);
    } catch (error) {
      // ESRCH: the whole group has exited already.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') this.onerror?.(error as Error);
    }
  }

  #ended(): void {
    this.#child?.stdout?.destroy();
    this.#child?.stderr?.destroy();
    this.#child?.stdin?.destroy();
    this.onclose?.();
  }

  #line(line: string | OversizeMessage): Promise<void> | undefined {
    if (typeof line !== 'string') handleOversize(line, this);
    else if (line.trim() !== '') return parseMessage(line, this.#limit, this.#reader);
    return undefined;
  }

  #noise(line: string): void {
    const shown = line.slice(0, NOISE_SHOWN);
    this.#stray ??= shown;
    this.onnoise(shown, 'stdout');
  }
}

function startFailure({ command, cwd }: CommandServerConfig, error: NodeJS.ErrnoException): ServerFailure {
  if (error.code !== 'ENOENT') {
    return new ServerFailure(error.code === 'EACCES' ? 'not_executable' : 'other', error.message, { cause: error });
  }
  if (cwd === undefined || existsSync(cwd)) {
    return new ServerFailure('command_missing', `command '${command}' was not found`);
  }
  return new ServerFailure('folder_missing', `the folder '${cwd}' (cwd of '${command}') was not found`);
}

import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { within } from '../../lib/timers.ts';
import { InOrder } from './in-order.ts';
import { MessageLines } from './message-lines.ts';
import type { MessageLimit, Pausable } from './message-size.ts';
import type { OversizeMessage } from './oversize-message.ts';
import { PendingWork } from './pending-work.ts';

/** Processes that the child started outside its group may hold its pipes open. */
const PIPES_MS = 250;

export interface ChildOutputHandlers {
  /** One line. If it takes several turns of the event loop, returns a promise; the following lines wait for it. */
  onLine: (line: string | OversizeMessage) => Promise<void> | undefined;
  onError: (error: Error) => void;
}

/** The standard output of a child: one message on each line. */
export class ChildOutput implements Pausable {
  received = 0;
  #isPaused = false;
  #hasExited = false;
  readonly #stdout: Readable;
  /** Messages that are being parsed. */
  readonly #parsing = new PendingWork();

  constructor(stdout: Readable, limit: MessageLimit, { onLine, onError }: ChildOutputHandlers) {
    this.#stdout = stdout;
    const inOrder = new InOrder(this, { limit, parsing: this.#parsing, onError });
    const lines = new MessageLines(limit, this);
    stdout.on('data', (chunk: Buffer) => {
      this.received += chunk.length;
      for (const line of lines.append(chunk)) {
        const length = typeof line === 'string' ? line.length : 0;
        inOrder.add(length, () => onLine(line));
      }
    });
    stdout.once('close', () => lines.clear());
  }

  /** Lines wait to be read or handled. */
  get isBehind(): boolean {
    return this.#isPaused || !this.#parsing.isEmpty;
  }

  pause(): void {
    if (this.#hasExited) return;
    this.#isPaused = true;
    this.#stdout.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#stdout.resume();
  }

  /** Reads and handles what an exited child has left. `closed`: its pipes are closed. */
  async readRest(closed: Promise<unknown>): Promise<void> {
    // That is no more than a pipe holds; what other processes still write to it is read for a moment.
    this.#hasExited = true;
    this.resume();
    await within(PIPES_MS, closed);
    // The timer may have been late; the pipe is read in the next turn at the latest.
    await nextTurn();
    this.#stdout.destroy();
    await this.#parsing.done();
  }
}

import type { MessageLimit, Pausable } from './message-size.ts';
import type { PendingWork } from './pending-work.ts';

/** How much may wait, in characters, before the stream is paused: what is not read would be lost if the connection broke. */
const MAX_WAITING = 64 * 1024;
/** What an item takes besides its text. */
const ITEM_OVERHEAD = 128;

/** Handles one item; returns a promise if that takes several turns of the event loop. */
type Work = () => Promise<void> | void;

interface Item {
  work: Work;
  size: number;
  /** Called when it has been handled. */
  onHandled: (() => void) | undefined;
  /** The item after it. */
  next: Item | undefined;
}

/** The transport that reads the stream. */
export interface StreamReader {
  limit: MessageLimit;
  /** Messages that are being parsed. */
  parsing: PendingWork;
  onError: (error: Error) => void;
}

/**
 * Handles the items of a stream in order. While one takes several turns of the event loop, the others wait; when many are waiting,
 * reading is paused.
 */
export class InOrder {
  readonly #source: Pausable;
  readonly #reader: StreamReader;
  /** A linked list of those that wait: handled items have to go at once, because their work holds the texts of messages. */
  #first: Item | undefined;
  #last: Item | undefined;
  #waitingSize = 0;
  #isRunning = false;
  #isPaused = false;

  constructor(source: Pausable, reader: StreamReader) {
    this.#source = source;
    this.#reader = reader;
  }

  /** `length`: of the text of the item. */
  add(length: number, work: Work): void {
    const size = length + ITEM_OVERHEAD;
    const item: Item = { work, size, onHandled: this.#reader.limit.handling(length), next: undefined };
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
    this.#waitingSize += size;
    if (!this.#isRunning) this.#run();
    else if (this.#waitingSize > MAX_WAITING) {
      this.#isPaused = true;
      this.#source.pause();
    }
  }

  #run(): void {
    this.#isRunning = true;
    for (let item = this.#first; item !== undefined; item = this.#first) {
      const { work, size, onHandled } = item;
      this.#first = item.next;
      if (this.#first === undefined) this.#last = undefined;
      this.#waitingSize -= size;
      const unfinished = this.#start(work);
      if (unfinished === undefined) {
        onHandled?.();
        continue;
      }
      const { parsing, onError } = this.#reader;
      void parsing.track(unfinished.catch(onError).then(() => this.#continue(onHandled)));
      return;
    }
    this.#isRunning = false;
  }

  /** Thrown further, an error would end up in the stream or crash the process, and the items after it would be lost. */
  #start(work: Work): Promise<void> | undefined {
    try {
      return work() ?? undefined;
    } catch (error) {
      this.#reader.onError(error as Error);
      return undefined;
    }
  }

  #continue(onHandled: Item['onHandled']): void {
    onHandled?.();
    this.#run();
    if (!this.#isPaused || this.#waitingSize > MAX_WAITING) return;
    this.#isPaused = false;
    this.#source.resume();
  }
}

import { append } from './append.ts';

/** What most code needs of an `AbortSignal`. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * An `AbortController` and its signal in one, for every call: the originals would be the most expensive part of a fast call
 * that is not stopped. Listeners are called once.
 */
export class Stopper implements StopSignal {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] | undefined;
  #original: AbortController | undefined;

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    try {
      // A listener may remove others, which then are not called.
      for (let listener = this.#listeners?.shift(); listener; listener = this.#listeners?.shift()) listener();
    } finally {
      this.#original?.abort(reason);
    }
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.#listeners = append(this.#listeners, listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners?.splice(at, 1);
  }

  /** The same as an `AbortSignal`, for code that requires one. */
  get original(): AbortSignal {
    if (this.#original === undefined) {
      this.#original = new AbortController();
      if (this.aborted) this.#original.abort(this.reason);
    }
    return this.#original.signal;
  }
}

/** An `AbortSignal` that is aborted with this one. */
export function abortSignalOf(signal: StopSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  if (signal instanceof Stopper) return signal.original;
  throw new TypeError('not a signal');
}

/** Acts when the signal is aborted, immediately if it already is; the returned function prevents it. */
export function whenAborted(signal: StopSignal | undefined, act: () => void): () => void {
  if (signal?.aborted) act();
  else signal?.addEventListener('abort', act, { once: true });
  return () => signal?.removeEventListener('abort', act);
}

/** The value of the promise; rejects if the signal is aborted first. The work behind the promise continues. */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: StopSignal | undefined,
  why: () => Error,
): Promise<T> {
  let forget = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    forget = whenAborted(signal, () => reject(why()));
  });
  return Promise.race([promise, aborted]).finally(forget);
}

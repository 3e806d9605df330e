import { systemClock, type Clock } from './clock.ts';
import { InFlight } from './in-flight.ts';

/** The value of the promise, or `undefined` if it takes longer. */
export async function within<T>(ms: number, promise: Promise<T>, clock: Clock = systemClock): Promise<T | undefined> {
  let cancel = (): void => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(ms, () => resolve(undefined));
  });
  return Promise.race([promise, late]).finally(cancel);
}

export async function sleep(ms: number, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => {
    clock.after(ms, resolve);
  });
}

/** Runs periodically until the returned function is called. Does not keep the process alive. */
export function every(ms: number, run: () => void, clock: Clock): () => void {
  let cancel = (): void => {};
  const arm = (): void => {
    cancel = clock.after(
      ms,
      () => {
        arm();
        run();
      },
      { unref: true },
    );
  };
  arm();
  return () => cancel();
}

/** `AbortSignal.timeout` by the given clock. */
export function timeoutSignal(ms: number, clock: Clock): { signal: AbortSignal; cancel: () => void } {
  const controller = new AbortController();
  const abort = (): void =>
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  return { signal: controller.signal, cancel: clock.after(ms, abort, { unref: true }) };
}

/**
 * One timer for many moments: `at` arms it for the earliest one asked for, and `due` is called then. The owner of the
 * moments decides what is due and arms it again, so no moment has a timer of its own to forget.
 */
export class Alarm {
  #cancel: (() => void) | undefined;
  #moment = Infinity;
  readonly #due: () => void;
  readonly #clock: Clock;

  constructor(due: () => void, clock: Clock) {
    this.#due = due;
    this.#clock = clock;
  }

  at(moment: number | undefined): void {
    if (moment === undefined || moment >= this.#moment) return;
    this.#cancel?.();
    this.#moment = moment;
    this.#cancel = this.#clock.after(moment - this.#clock.now(), () => this.#ring(), { unref: true });
  }

  #ring(): void {
    this.#moment = Infinity;
    this.#cancel = undefined;
    this.#due();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#moment = Infinity;
  }
}

/** Acts on the entries that are still in it after a fixed time. One timer serves all of them. */
export class Delayed<T> {
  /** When each entry is due, in this order. */
  readonly #due = new InFlight<T, number>();
  #armed = false;
  readonly #ms: number;
  readonly #act: (entry: T) => void;
  readonly #clock: Clock;

  constructor(ms: number, act: (entry: T) => void, clock: Clock = systemClock) {
    this.#ms = ms;
    this.#act = act;
    this.#clock = clock;
  }

  /** An entry that is not in it. */
  add(entry: T): void {
    this.#due.add(entry, this.#clock.now() + this.#ms);
    if (!this.#armed) this.#arm(this.#ms);
  }

  delete(entry: T): void {
    this.#due.delete(entry);
  }

  #arm(ms: number): void {
    this.#armed = true;
    this.#clock.after(ms, () => this.#ring(), { unref: true });
  }

  #ring(): void {
    const now = this.#clock.now();
    for (let { oldest } = this.#due; oldest !== undefined; { oldest } = this.#due) {
      const { key: entry, value: due } = oldest;
      if (due > now) {
        this.#arm(due - now);
        return;
      }
      this.#due.delete(entry);
      this.#act(entry);
    }
    this.#armed = false;
  }
}

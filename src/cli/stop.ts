import { setMaxListeners } from 'node:events';
import { unlessAborted } from '../lib/abort.ts';
import { EXIT_CODES, Failure } from './failure.ts';

/** Everything from outside that ends a command before its time: signals, and the time of `--timeout`. */
export class Stop {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  #onInterrupt: (() => void) | undefined;

  constructor(timeout: { ms: number; text: string } | undefined) {
    // As many listen as there are servers to be examined.
    setMaxListeners(0, this.#controller.signal);
    process.on('SIGINT', this.#interrupt).on('SIGTERM', this.#terminate).on('SIGHUP', this.#terminate);
    if (timeout === undefined) return;
    this.#timer = setTimeout(() => {
      this.#stop(new Failure('timeout', `time ran out after ${timeout.text}`));
    }, timeout.ms);
  }

  /** Aborted with a `Failure` as its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on Ctrl-C is for this handler; without one it ends the command. */
  onInterrupt(handler: (() => void) | undefined): void {
    this.#onInterrupt = handler;
  }

  /** What the promise brings, unless the command is ended first. */
  async unless<T>(promise: Promise<T>): Promise<T> {
    return unlessAborted(promise, this.signal, () => this.signal.reason as Failure);
  }

  /** What ends well does not end late. */
  close(): void {
    clearTimeout(this.#timer);
  }

  readonly #interrupt = (): void => {
    // Who presses it again while we clean up does not want to wait for that.
    if (this.signal.aborted) process.exit(EXIT_CODES.interrupted);
    if (this.#onInterrupt === undefined) this.#stop(new Failure('interrupted', 'interrupted'));
    else this.#onInterrupt();
  };

  readonly #terminate = (): void => this.#stop(new Failure('interrupted', 'terminated'));

  #stop(failure: Failure): void {
    clearTimeout(this.#timer);
    this.#controller.abort(failure);
  }
}

import { setMaxListeners } from 'node:events';
import { unlessAborted } from '../lib/abort.ts';
import { EXIT_CODES, Failure } from './failure.ts';

/** Ends a command early: on a signal, or after `--timeout`. */
export class Stop {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  #onInterrupt: (() => void) | undefined;

  constructor(timeout: { ms: number; text: string } | undefined) {
    // There is a listener for each server that doctor examines.
    setMaxListeners(0, this.#controller.signal);
    process.on('SIGINT', this.#interrupt).on('SIGTERM', this.#terminate).on('SIGHUP', this.#terminate);
    if (timeout === undefined) return;
    this.#timer = setTimeout(() => {
      this.#stop(new Failure('timeout', `timed out after ${timeout.text}`));
    }, timeout.ms);
  }

  /** Aborted with a `Failure` as its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Handles Ctrl-C from now on; without a handler Ctrl-C ends the command. */
  onInterrupt(handler: (() => void) | undefined): void {
    this.#onInterrupt = handler;
  }

  /** The result of the promise, unless the command is stopped first. */
  async unless<T>(promise: Promise<T>): Promise<T> {
    return unlessAborted(promise, this.signal, () => this.signal.reason as Failure);
  }

  /** Stops the timer of `--timeout`. */
  close(): void {
    clearTimeout(this.#timer);
  }

  readonly #interrupt = (): void => {
    // A second Ctrl-C during cleanup exits at once.
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

import type { Caller, Leaving, LeavingListener } from '../core/call/request.ts';
import type { Progress } from '../core/ports/connection.ts';
import { append } from '../lib/append.ts';
import { leavingFor, type OnCancel } from './cancel-reasons.ts';

/**
 * One request of a client and what happens to it: the client may leave or cancel, and the reply may or may not reach it.
 * Transports report that here, and endpoints listen.
 */
export class Exchange implements Pick<Caller, 'onLeaving'> {
  #leaving: Leaving | undefined;
  #delivered: boolean | undefined;
  #back = false;
  #resumable = false;
  #withdrawn = false;
  /** The client's reason for the cancellation, if any. */
  #words: string | undefined;
  // A fast call has at most one listener of each kind, so the lists are created on demand.
  #leavingListeners: LeavingListener[] | undefined;
  #settledListeners: ((delivered: boolean) => void)[] | undefined;
  #taken: (() => void) | undefined;
  #withdrawal: AbortController | undefined;
  /** The reply may have reached the client although it does not count as delivered. */
  mayHaveArrived = false;
  /** Sends progress to the client; absent if it did not request progress. */
  readonly progress: ((progress: Progress) => void) | undefined;

  readonly #onCancel: OnCancel;

  constructor(progress?: (progress: Progress) => void, onCancel: OnCancel = 'auto') {
    this.progress = progress;
    this.#onCancel = onCancel;
  }

  get open(): boolean {
    return this.#delivered === undefined && this.#leaving === undefined;
  }

  /** Whether a notification in the course of the request reaches the client now. */
  get reaches(): boolean {
    return this.open || this.#back;
  }

  get cancelled(): boolean {
    return this.#leaving === 'cancelled';
  }

  /** Whether the client has left, but can resume the stream of the request and so still get the reply. */
  get resumable(): boolean {
    return this.#resumable && !this.cancelled;
  }

  /**
   * The client no longer waits for the reply, but may want the result. `resumable`: it can return to the stream of
   * the request.
   */
  clientLeft({ resumable = false } = {}): void {
    this.#back = false;
    this.#resumable = resumable;
    this.#leave('gone');
  }

  /** A client that had left waits for the same reply again. */
  clientReturned(): void {
    this.#back = !this.cancelled;
  }

  /** The client cancelled the request. */
  cancel(reason: unknown): void {
    if (typeof reason === 'string') this.#words = reason;
    this.#leave(leavingFor(reason, this.#onCancel));
    this.withdraw();
  }

  /** There will be no reply: the request was cancelled, or its connection is closed for good. */
  withdraw(): void {
    this.#withdrawn = true;
    this.#withdrawal?.abort(this.#words);
  }

  /** The client closed the response: by accident, because it stopped waiting, or to cancel. The reason is unknown. */
  closed(): void {
    if (this.#onCancel === 'cancel') this.#leave('cancelled');
    else this.clientLeft();
  }

  /** The first call decides, except for `onDelivered`: the client may get the reply later. */
  settle(delivered: boolean): void {
    if (delivered) this.#taken?.();
    if (this.#delivered !== undefined) return;
    this.#delivered = delivered;
    const listeners = this.#settledListeners;
    this.#settledListeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener(delivered);
  }

  whenSettled(listener: (delivered: boolean) => void): void {
    if (this.#delivered !== undefined) listener(this.#delivered);
    else this.#settledListeners = append(this.#settledListeners, listener);
  }

  /** Called when the client has the reply, immediately or after it returned for it. */
  onDelivered(listener: () => void): void {
    this.#taken = listener;
  }

  /** Plain listeners, because every call has them: a signal would cost more than the rest of the exchange. */
  onLeaving(listener: LeavingListener): () => void {
    if (this.#leaving !== 'cancelled') this.#leavingListeners = append(this.#leavingListeners, listener);
    if (this.#leaving !== undefined) listener(this.#leaving, this.#words);
    return () => this.#forget(listener);
  }

  #forget(listener: LeavingListener): void {
    const others = this.#leavingListeners?.filter((each) => each !== listener);
    this.#leavingListeners = others?.length === 0 ? undefined : others;
  }

  /** The same as a signal: aborted when the client leaves or cancels. */
  leavingSignal(): AbortSignal {
    const controller = new AbortController();
    this.onLeaving((_leaving, words) => controller.abort(words));
    return controller.signal;
  }

  /** Aborted when the client has left and can no longer get the reply. */
  lostSignal(): AbortSignal {
    const controller = new AbortController();
    this.onLeaving((_leaving, words) => {
      if (!this.resumable) controller.abort(words);
    });
    return controller.signal;
  }

  /** Aborted when there will be no reply. */
  withdrawnSignal(): AbortSignal {
    this.#withdrawal ??= new AbortController();
    if (this.#withdrawn) this.#withdrawal.abort(this.#words);
    return this.#withdrawal.signal;
  }

  /** A client that left may return and cancel. */
  #leave(how: Leaving): void {
    if (this.#leaving === how || this.#leaving === 'cancelled') return;
    this.#leaving = how;
    // A listener may remove others, which then are not called.
    for (const listener of this.#leavingListeners ?? []) {
      if (this.#leavingListeners?.includes(listener)) listener(how, this.#words);
    }
    if (how === 'cancelled') this.#leavingListeners = undefined;
    this.settle(false);
  }
}

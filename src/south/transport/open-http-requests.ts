import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { LazySet } from '../../lib/lazy-collections.ts';
import type { HttpExchange } from './http-pool.ts';

/** How long a cancelled request stays open, to see whether the server accepts it after all. */
const OVERTAKEN_MS = 1000;

/** A request that has no answer yet. */
export class OpenRequest {
  /** The server has begun to answer, so it certainly has the request. */
  taken = false;
  /** The notification that cancels it, where it may have overtaken the request. */
  cancel?: JSONRPCMessage;
  /** The POST, or the GET that resumes its stream. */
  exchange?: Pick<HttpExchange, 'sent' | 'abort'>;
  dropped = false;
  /** Until it is answered, abandoned or dropped. */
  isOpen = true;

  /** Whether it waits for its connection: the server cannot have it. */
  get isWaiting(): boolean {
    return !this.taken && this.exchange?.sent !== true;
  }

  /** Aborts an unwanted request; otherwise its stream would stay open as long as the connection. */
  drop(): void {
    this.dropped = true;
    this.exchange?.abort();
  }
}

/** Our open requests over HTTP. */
export class OpenHttpRequests {
  readonly #open = new InFlight<RequestId, OpenRequest>();
  /** Requests whose answers will not arrive although the server may still work on them. */
  readonly #abandoned = new LazySet<RequestId>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(id: RequestId): OpenRequest {
    const request = new OpenRequest();
    this.#open.add(id, request);
    return request;
  }

  /** Whether the request waits for its connection: the server cannot have it. */
  isWaiting(id: RequestId): boolean {
    return this.#open.get(id)?.isWaiting === true;
  }

  get anyWaits(): boolean {
    return this.#open.values().some(({ isWaiting }) => isWaiting);
  }

  /** The request has its answer, or failed for certain. */
  end(id: RequestId): void {
    this.#take(id);
  }

  /** The answer will not arrive. */
  abandon(id: RequestId): void {
    this.#take(id);
    this.#abandoned.add(id);
  }

  /**
   * Drops a request that waits for its connection; false if it may have been sent. Its cancellation would overtake it on
   * another connection: the server would ignore the cancellation, and run the request in vain.
   */
  dropUnsent(id: RequestId): boolean {
    if (!this.isWaiting(id)) return false;
    this.drop(id);
    return true;
  }

  /** The cancellation was sent. A server with sessions need not answer the request, and would keep its stream open. */
  cancelled(id: RequestId, cancel: JSONRPCMessage): void {
    const request = this.#open.get(id);
    if (request === undefined) return;
    if (request.taken) {
      this.drop(id);
      return;
    }
    request.cancel = cancel;
    this.#clock.after(OVERTAKEN_MS, () => this.drop(id), { unref: true });
  }

  takeAbandoned(): RequestId[] {
    const abandoned = [...this.#abandoned];
    this.#abandoned.clear();
    return abandoned;
  }

  /** The abandoned requests, and those that are still open. */
  takeAll(): RequestId[] {
    return [...new Set([...this.takeAbandoned(), ...this.#open.keys()])];
  }

  /** The response is no longer wanted. */
  drop(id: RequestId): void {
    this.#take(id)?.drop();
  }

  #take(id: RequestId): OpenRequest | undefined {
    const request = this.#open.take(id);
    if (request !== undefined) request.isOpen = false;
    return request;
  }
}

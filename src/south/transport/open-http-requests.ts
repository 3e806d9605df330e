import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import type { Clock } from '../../lib/clock.ts';
import { InFlight } from '../../lib/in-flight.ts';
import type { HttpExchange } from './http-pool.ts';

/** How long a request that was cancelled before it was answered stays open, to see whether the server takes it after all. */
const OVERTAKEN_MS = 1000;

/** A request that has no answer yet. */
export class OpenRequest {
  /** How far it came: the server may have it once it was sent, and has it for certain once it has answered something. */
  state: 'waiting' | 'sent' | 'taken' = 'waiting';
  /** The notification that cancels it, where it may have overtaken the request. */
  cancel?: JSONRPCMessage;
  /** The POST, or the GET that resumes its stream. */
  exchange?: HttpExchange;
  dropped = false;

  /** Gives up a request that is not wanted any more; its stream would otherwise stay open as long as the connection. */
  drop(): void {
    this.dropped = true;
    this.exchange?.abort();
  }
}

/** Our requests over HTTP that have no answer yet. */
export class OpenHttpRequests {
  readonly #open = new InFlight<RequestId, OpenRequest>();
  /** Requests whose answers will not come, although the server may still work on them. */
  readonly #abandoned = new Set<RequestId>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(id: RequestId): OpenRequest {
    const request = new OpenRequest();
    this.#open.add(id, request);
    return request;
  }

  has(id: RequestId): boolean {
    return this.#open.has(id);
  }

  /** Whether the request waits for its connection: the server cannot have it. */
  isWaiting(id: RequestId): boolean {
    return this.#open.get(id)?.state === 'waiting';
  }

  get anyWaits(): boolean {
    return this.#open.values().some(({ state }) => state === 'waiting');
  }

  /** The request has its answer, or failed for certain. */
  end(id: RequestId): void {
    this.#open.delete(id);
  }

  /** The answer will not come. */
  abandon(id: RequestId): void {
    this.#open.delete(id);
    this.#abandoned.add(id);
  }

  /**
   * Drops a request that waits for its connection; false if it may be sent already. Its cancellation would overtake it on
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
    if (request.state === 'taken') {
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

  /** The response is not wanted any more. */
  drop(id: RequestId): void {
    this.#open.get(id)?.drop();
    this.#open.delete(id);
  }
}

import type { Clock } from '../../lib/clock.ts';
import { GatewayError } from '../errors.ts';
import type { Quota } from '../shared-limit.ts';

interface PresenceParts {
  /** The session's part of the gateway's open requests. */
  requests: Quota;
  requestsPerSession: number;
  /** Throws if the session has ended. */
  assertOpen: () => void;
  clock: Clock;
}

/** Whether the client of a session is connected, and when it was last active. */
export class Presence {
  /** The last activity in the session, by its client or for it. */
  lastActiveAt: number;
  /** The last activity of the client itself: a request, or the end of a stream. */
  clientActiveAt: number;
  #holds = 0;
  #requests = 0;
  readonly #parts: PresenceParts;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    this.lastActiveAt = this.clientActiveAt = parts.clock.now();
  }

  /** The client was active. */
  touch(): void {
    this.clientActiveAt = this.lastActiveAt = this.#parts.clock.now();
  }

  /** Work for the client continues without the client. */
  postponeIdle(): void {
    this.lastActiveAt = this.#parts.clock.now();
  }

  /** Counts a request of the client as open until `endRequest`. Throws beyond the limit. */
  beginRequest(): void {
    const { requests, requestsPerSession, assertOpen } = this.#parts;
    assertOpen();
    if (this.#requests >= requestsPerSession) {
      throw new GatewayError(
        'TOOL_ERR_LIMIT',
        `${this.#requests} requests of this session are open (limits.requestsPerSession); wait for some to finish`,
      );
    }
    requests.assertRoom();
    this.#requests += 1;
    requests.take();
    this.#holds += 1;
  }

  /** Must be called once for each request. */
  endRequest(): void {
    if (this.#requests === 0) throw new Error('no request is open');
    this.#requests -= 1;
    this.#parts.requests.release();
    this.#release();
  }

  /** Keeps the session from ending as idle until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#release();
    };
  }

  #release(): void {
    this.#holds -= 1;
    this.touch();
  }

  /** Whether the client has a request or a stream open. */
  get isAttended(): boolean {
    return this.#holds > 0;
  }
}

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import { ApiError } from './api-error.ts';

/** The limit on wrong keys from one address per minute. */
const PER_ADDRESS = 10;
/** The limit on wrong keys from all addresses per minute. */
const IN_ALL = 1000;
const WINDOW_MS = 60_000;

/** Limits wrong keys and tokens. Valid ones are never refused, since many people may share an address, such as a proxy's. */
export class SignInLimit {
  readonly #clock: Clock;
  #since = 0;
  #inAll = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a wrong key; throws if there are too many. */
  failed(req: IncomingMessage): void {
    this.#assertOpen(req);
    const address = addressOf(req);
    this.#inAll += 1;
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1);
  }

  #assertOpen(req: IncomingMessage): void {
    const now = this.#clock.now();
    if (now - this.#since >= WINDOW_MS || now < this.#since) {
      this.#since = now;
      this.#inAll = 0;
      this.#byAddress.clear();
    }
    if (this.#inAll < IN_ALL && (this.#byAddress.get(addressOf(req)) ?? 0) < PER_ADDRESS) return;
    const seconds = Math.ceil((this.#since + WINDOW_MS - now) / 1000);
    throw new ApiError(429, 'too_many_attempts', `too many wrong keys; try again in ${seconds} seconds`, {
      headers: { 'retry-after': String(seconds) },
    });
  }
}

function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

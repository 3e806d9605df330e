import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import { ApiError } from './api-error.ts';

/** Wrong keys from one address within a minute; */
const PER_ADDRESS = 10;
/** and from all of them. */
const IN_ALL = 1000;
const WINDOW_MS = 60_000;

/** Limits wrong keys and tokens. Right ones are never refused: others may have the same address, such as that of a proxy. */
export class SignInLimit {
  readonly #clock: Clock;
  #since = 0;
  #inAll = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A wrong key has come; throws if there are too many of them. */
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

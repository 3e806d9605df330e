import type { ServerResponse } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import type { ClientConnection } from '../http/addressed.ts';

const MAX_IDLE = 10_000;

/** The keep-alive timeout of a listener. */
const MAX_IDLE_MS = 65_000;

/** Represents the connection of a client to another gateway. Its end is not reported, but it is idle before. */
class StandIn implements ClientConnection {
  /** The number of open requests on it. */
  open = 0;
  #idleSince: number;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#idleSince = clock.now();
  }

  get destroyed(): boolean {
    return this.open === 0 && this.#clock.now() - this.#idleSince > MAX_IDLE_MS;
  }

  begin(): void {
    this.open += 1;
  }

  end(): void {
    this.open -= 1;
    this.#idleSince = this.#clock.now();
  }
}

/** The connections of clients to other gateways. */
export class StandIns {
  readonly #used = new Map<string, StandIn>();
  /** Connections without an open request, longest idle first. */
  readonly #idle = new Map<string, StandIn>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The connection on which the client of this request reached its gateway. */
  of(gateway: string, connection: number, res: ServerResponse): ClientConnection {
    const name = `${gateway} ${connection}`;
    const standIn = this.#used.get(name) ?? this.#idle.get(name) ?? new StandIn(this.#clock);
    this.#idle.delete(name);
    this.#used.set(name, standIn);
    standIn.begin();
    res.once('close', () => {
      standIn.end();
      if (standIn.open === 0) this.#rest(name, standIn);
    });
    return standIn;
  }

  #rest(name: string, standIn: StandIn): void {
    this.#used.delete(name);
    this.#idle.set(name, standIn);
    for (const [longest, { destroyed }] of this.#idle) {
      if (!destroyed && this.#idle.size <= MAX_IDLE) return;
      this.#idle.delete(longest);
    }
  }
}

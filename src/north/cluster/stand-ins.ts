import type { ServerResponse } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import type { Connection } from '../http/addressed.ts';

const MAX_STAND_INS = 10_000;

/** As long as a listener keeps a connection open between two requests. */
const MAX_IDLE_MS = 65_000;

/** Stands for the connection of a client to another gateway. Nobody tells when it is closed, but it is idle before. */
class StandIn implements Connection {
  #open = 0;
  #idleSince: number;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#idleSince = clock.now();
  }

  get destroyed(): boolean {
    return this.#open === 0 && this.#clock.now() - this.#idleSince > MAX_IDLE_MS;
  }

  use(res: ServerResponse): void {
    this.#open += 1;
    res.once('close', () => {
      this.#open -= 1;
      this.#idleSince = this.#clock.now();
    });
  }
}

/** The connections of clients to other gateways. */
export class StandIns {
  readonly #known = new Map<string, StandIn>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The connection on which the client of this request reached its gateway. */
  of(gateway: string, connection: number, res: ServerResponse): Connection {
    const name = `${gateway} ${connection}`;
    const standIn = this.#known.get(name) ?? this.#add(name);
    standIn.use(res);
    return standIn;
  }

  #add(name: string): StandIn {
    if (this.#known.size >= MAX_STAND_INS) this.#makeRoom();
    const standIn = new StandIn(this.#clock);
    this.#known.set(name, standIn);
    return standIn;
  }

  #makeRoom(): void {
    for (const [name, { destroyed }] of this.#known) if (destroyed) this.#known.delete(name);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MAX_STAND_INS && oldest !== undefined) this.#known.delete(oldest);
  }
}

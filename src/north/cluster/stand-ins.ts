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
  /** Increases with each request of all of them. */
  lastUse = 0;
  #idleSince: number;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#idleSince = clock.now();
  }

  get destroyed(): boolean {
    return this.open === 0 && this.#clock.now() - this.#idleSince > MAX_IDLE_MS;
  }

  begin(use: number): void {
    this.open += 1;
    this.lastUse = use;
  }

  end(): void {
    this.open -= 1;
    this.#idleSince = this.#clock.now();
  }
}

/** The connections of clients to other gateways. */
export class StandIns {
  /** By gateway and connection. Each request uses one, so they are not moved when they become idle. */
  readonly #known = new Map<string, StandIn>();
  readonly #clock: Clock;
  #uses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The connection on which the client of this request reached its gateway. */
  of(gateway: string, connection: number, res: ServerResponse): ClientConnection {
    const name = `${gateway} ${connection}`;
    const known = this.#known.get(name);
    const standIn = known === undefined || known.destroyed ? this.#add(name) : known;
    this.#uses += 1;
    standIn.begin(this.#uses);
    res.on('close', () => standIn.end());
    return standIn;
  }

  #add(name: string): StandIn {
    if (this.#known.size > MAX_IDLE) this.#makeRoom();
    const standIn = new StandIn(this.#clock);
    this.#known.set(name, standIn);
    return standIn;
  }

  /** Forgets what has ended; if nothing has, the one that was not used for longest. */
  #makeRoom(): void {
    const { size } = this.#known;
    let oldest: [name: string, standIn: StandIn] | undefined;
    for (const each of this.#known) {
      const [name, standIn] = each;
      if (standIn.destroyed) this.#known.delete(name);
      else if (standIn.open === 0 && (oldest === undefined || standIn.lastUse < oldest[1].lastUse)) oldest = each;
    }
    if (oldest !== undefined && this.#known.size === size) this.#known.delete(oldest[0]);
  }
}

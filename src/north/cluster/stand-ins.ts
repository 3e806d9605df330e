import type { ServerResponse } from 'node:http';
import type { Clock } from '../../lib/clock.ts';
import type { ClientConnection } from '../http/addressed.ts';

/** Beyond this, what has ended is forgotten, and then what was not used for longest. */
const MAX_KNOWN = 10_000;
/** How many are forgotten at a time, so that most new ones cost nothing. */
const BATCH = 1000;

/** The keep-alive timeout of a listener. */
const MAX_IDLE_MS = 65_000;

/** Represents the connection of a client to another gateway. Its end is not reported, but it is idle before. */
class StandIn implements ClientConnection {
  /** The number of open requests on it. */
  open = 0;
  /** The number of its latest request, counted over all stand-ins. */
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
  /** How many there may be before room is made. */
  #room = MAX_KNOWN;

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
    if (this.#known.size >= this.#room) this.#makeRoom();
    const standIn = new StandIn(this.#clock);
    this.#known.set(name, standIn);
    return standIn;
  }

  #makeRoom(): void {
    for (const [name, { destroyed }] of this.#known) if (destroyed) this.#known.delete(name);
    const idle = [...this.#known].filter(([, { open }]) => open === 0);
    const surplus = Math.max(0, this.#known.size - (MAX_KNOWN - BATCH));
    const oldest = idle.toSorted(([, a], [, b]) => a.lastUse - b.lastUse).slice(0, surplus);
    for (const [name] of oldest) this.#known.delete(name);
    // With many open ones, not all that is wanted can be forgotten.
    this.#room = Math.max(MAX_KNOWN, this.#known.size + BATCH);
  }
}

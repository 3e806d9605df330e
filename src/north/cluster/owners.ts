import type { ClusterStore, GatewayAddress } from '../../core/ports.ts';
import type { Clock } from '../../lib/clock.ts';

/** Beyond this, those that were learned first are forgotten. */
const MAX_KNOWN = 100_000;

/** What the store tells of other gateways, as far as requests are forwarded. */
export type ForwardStore = Pick<ClusterStore, 'gatewayId' | 'key' | 'leaseMs' | 'ownerOf' | 'anyOther'>;

interface Known {
  owner: GatewayAddress;
  /** Until then, the store is not asked. A gateway that does not have the session any more refuses. */
  until: number;
}

/** Which other gateway has a session, as far as it is known here: so most requests are forwarded without asking the store. */
export class Owners {
  readonly #known = new Map<string, Known>();
  readonly #store: ForwardStore;
  readonly #clock: Clock;

  constructor(store: ForwardStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The other gateway that has it; nothing if this one has it, or may take it. */
  find(key: string): GatewayAddress | undefined | Promise<GatewayAddress | undefined> {
    const known = this.#known.get(key);
    if (known === undefined || known.until > this.#clock.now()) return known?.owner;
    return this.#ask(key, known.owner);
  }

  /** The owner itself, or the store, has just said so. */
  learn(key: string, owner: GatewayAddress): void {
    const until = this.#clock.now() + this.#store.leaseMs / 2;
    const known = this.#known.get(key);
    if (known?.owner.id === owner.id && known.owner.address === owner.address) {
      known.until = until;
      return;
    }
    this.#known.set(key, { owner, until });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  async #ask(key: string, before: GatewayAddress): Promise<GatewayAddress | undefined> {
    try {
      const owner = await this.#store.ownerOf(key);
      if (owner === undefined || owner.id === this.#store.gatewayId) {
        this.forget(key);
        return undefined;
      }
      this.learn(key, owner);
      return owner;
    } catch {
      // Requests go on while the database is away: a gateway that does not own the session any more refuses them.
      return before;
    }
  }
}

import type { ClusterStore, GatewayAddress } from '../../core/ports/cluster-store.ts';
import type { Clock } from '../../lib/clock.ts';

/** Beyond this, the oldest entries are dropped. */
const MAX_KNOWN = 100_000;

/** The parts of the store needed for forwarding. */
export type ForwardStore = Pick<ClusterStore, 'gatewayId' | 'key' | 'leaseMs' | 'ownerOf' | 'anyOther'>;

interface Known {
  owner: GatewayAddress;
  /** Until then, the store is not asked. A gateway that no longer owns the session refuses the request. */
  until: number;
}

/** Caches which other gateway owns a session, so that most requests are forwarded without asking the store. */
export class Owners {
  readonly #known = new Map<string, Known>();
  readonly #store: ForwardStore;
  readonly #clock: Clock;

  constructor(store: ForwardStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The other gateway that owns it; `undefined` if this one owns it or may take it. */
  find(key: string): GatewayAddress | undefined | Promise<GatewayAddress | undefined> {
    const known = this.#known.get(key);
    if (known === undefined || known.until > this.#clock.now()) return known?.owner;
    return this.#ask(key, known.owner);
  }

  /** Records an owner that was just confirmed by itself or by the store. */
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
      // Requests continue while the database is down: a gateway that no longer owns the session refuses them.
      return before;
    }
  }
}

import { GatewayError, orStoreFailed, OwnedElsewhere, shuttingDown } from '../errors.ts';
import type { ClusterStore } from '../ports/cluster-store.ts';
import type { SessionRecord } from '../ports/records.ts';
import type { ClaimedSession, Store } from '../ports/store.ts';
import { CONNECTION_SESSION } from '../session/kind.ts';

const CLAIM_ATTEMPTS = 3;

/** The claim that covers all states of a principal. */
export const statesKey = (principal: string): string => `states:${principal}`;

/** Whether a client can have received this session id; ids with a colon are internal. */
export const canBeNamed = (id: string): boolean => !id.includes(':');

export const isStateId = (id: string): boolean => !canBeNamed(id) && !id.startsWith(CONNECTION_SESSION);

export const isState = ({ owner }: Pick<SessionRecord, 'owner'>): boolean => owner.kind === 'state';

/** The claim by which other gateways find the session. */
export const claimKey = (session: Pick<SessionRecord, 'id' | 'owner' | 'principal'>): string =>
  isState(session) ? statesKey(session.principal) : session.id;

/** A session, or all states of a principal, moved to another gateway while being opened. */
export class ClaimLost extends Error {}

/** Retries if the claim was lost; the retry finds the new owner. */
export async function untilOwned<T>(open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error;
    }
  }
}

/** Whether the gateway accepts sessions. A draining gateway hands them over; a closing one has none left. */
export type GatewayStage = 'open' | 'draining' | 'closing';

/** Claims sessions for this gateway. */
export class Claims {
  readonly #store: Store;
  readonly #stage: () => GatewayStage;
  /** The claims of all states of a principal together. */
  readonly #states = new Map<string, Promise<ClaimedSession>>();

  constructor(store: Store, stage: () => GatewayStage) {
    this.#store = store;
    this.#stage = stage;
  }

  /**
   * Claims a stored or new session; `undefined` while this gateway is ending it. Throws if another gateway owns it;
   * `key` is then used to forward requests.
   */
  async claim(id: string, key = id): Promise<ClaimedSession | undefined> {
    const { cluster } = this.#store;
    for (let attempt = 1; ; attempt += 1) {
      if (this.#stage() === 'closing') throw shuttingDown();
      const claimed = this.#stage() === 'open' ? await orStoreFailed(this.#store.claim(id)) : undefined;
      if (cluster === undefined) return claimed;
      if (claimed !== undefined && this.#stage() === 'open') return claimed;
      await claimed?.release();
      const owner = await orStoreFailed(cluster.ownerOf(id));
      if (owner !== undefined && owner.id !== cluster.gatewayId) throw new OwnedElsewhere(key, owner);
      if (this.#stage() !== 'open') throw await this.#elsewhere(key, cluster);
      // The owner has just released it, unless that was this gateway.
      if (owner !== undefined) return undefined;
      if (attempt === CLAIM_ATTEMPTS)
        throw new GatewayError('TOOL_ERR_STORE', 'the session is moving to another gateway; try again');
    }
  }

  /** Throws if new sessions must start at another gateway. */
  async assertTakesNew(): Promise<void> {
    const { cluster } = this.#store;
    if (cluster !== undefined && this.#stage() === 'draining') throw await this.#elsewhere('', cluster);
  }

  /** While this gateway stops, another one, if any, takes new sessions. */
  async #elsewhere(key: string, cluster: ClusterStore): Promise<Error> {
    const other = await orStoreFailed(cluster.anyOther());
    return other === undefined ? shuttingDown() : new OwnedElsewhere(key, other);
  }

  /**
   * All states of a principal are at one gateway, so that its programs find each other's tasks. Resolves with a function that throws
   * if this gateway has lost them meanwhile.
   */
  async claimStates(principal: string): Promise<() => void> {
    if (this.#store.cluster === undefined) return () => {};
    const claiming = this.#states.get(principal) ?? this.#claimNewStates(principal);
    this.#states.set(principal, claiming);
    try {
      await claiming;
    } catch (error) {
      if (this.#states.get(principal) === claiming) this.#states.delete(principal);
      throw error;
    }
    return () => {
      if (this.#states.get(principal) !== claiming) throw new ClaimLost();
    };
  }

  async #claimNewStates(principal: string): Promise<ClaimedSession> {
    const claimed = await this.claim(statesKey(principal));
    if (claimed === undefined) throw new GatewayError('TOOL_ERR_STORE', 'the state is in use; try again');
    return claimed;
  }

  /** Forgets states that other gateways own; returns their principals. */
  statesLost(lost: ReadonlySet<string>): Set<string> {
    const principals = [...this.#states.keys()].filter((principal) => lost.has(statesKey(principal)));
    for (const principal of principals) this.#states.delete(principal);
    return new Set(principals);
  }

  /** The principals whose states this gateway owns. */
  get principals(): string[] {
    return [...this.#states.keys()];
  }

  /** Releases the claim on the states of a principal, after each state was released. */
  async releaseStates(principal: string): Promise<void> {
    const claimed = await this.#states.get(principal)?.catch(() => undefined);
    this.#states.delete(principal);
    await claimed?.release();
  }
}

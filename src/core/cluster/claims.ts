import { GatewayError, orStoreFailed, OwnedElsewhere, shuttingDown } from '../errors.ts';
import type { ClaimedSession, ClusterStore, SessionRecord, Store } from '../ports.ts';
import { CONNECTION_SESSION } from '../session/kind.ts';

const CLAIM_ATTEMPTS = 3;

/** What is claimed for all states of a principal. */
export const statesKey = (principal: string): string => `states:${principal}`;

/** Whether a client can have been given this id; those of sessions that it reaches in another way have a colon. */
export const canBeNamed = (id: string): boolean => !id.includes(':');

export const isStateId = (id: string): boolean => !canBeNamed(id) && !id.startsWith(CONNECTION_SESSION);

export const isState = ({ owner }: Pick<SessionRecord, 'owner'>): boolean => owner.kind === 'state';

/** By what other gateways find the session. */
export const claimKey = (session: Pick<SessionRecord, 'id' | 'owner' | 'principal'>): string =>
  isState(session) ? statesKey(session.principal) : session.id;

/** A session, or all states of a principal, went to another gateway while it was being opened. */
export class ClaimLost extends Error {}

/** Begins anew if it was lost: now it is known who has it. */
export async function untilOwned<T>(open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ClaimLost)) throw error;
    }
  }
}

/** Whether the gateway takes sessions. One that drains leaves them to others; one that closes has none any more. */
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
   * Claims something that is stored, or new; `undefined` while this gateway is ending it. Throws if another gateway has it;
   * `key` is what requests are forwarded by then.
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
      // Its owner has just let go of it, unless that was this gateway.
      if (owner !== undefined) return undefined;
      if (attempt === CLAIM_ATTEMPTS)
        throw new GatewayError('TOOL_ERR_STORE', 'the session is moving to another gateway; try again');
    }
  }

  /** Throws if new sessions are to begin at another gateway. */
  async assertTakesNew(): Promise<void> {
    const { cluster } = this.#store;
    if (cluster !== undefined && this.#stage() === 'draining') throw await this.#elsewhere('', cluster);
  }

  /** Another gateway takes what comes while this one is stopped, if there is one. */
  async #elsewhere(key: string, cluster: ClusterStore): Promise<Error> {
    const other = await orStoreFailed(cluster.anyOther());
    return other === undefined ? shuttingDown() : new OwnedElsewhere(key, other);
  }

  /**
   * All states of a principal are at one gateway: its programs find the tasks of each other. Resolves with a function that throws
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

  /** Forgets states that other gateways have; returns whose they were. */
  statesLost(lost: ReadonlySet<string>): Set<string> {
    const principals = [...this.#states.keys()].filter((principal) => lost.has(statesKey(principal)));
    for (const principal of principals) this.#states.delete(principal);
    return new Set(principals);
  }

  /** The principals whose states this gateway has. */
  get principals(): string[] {
    return [...this.#states.keys()];
  }

  /** Lets other gateways have the states of a principal, after each of them was released. */
  async releaseStates(principal: string): Promise<void> {
    const claimed = await this.#states.get(principal)?.catch(() => undefined);
    this.#states.delete(principal);
    await claimed?.release();
  }
}

import { isState, untilOwned, type Claims } from '../cluster/claims.ts';
import { orStoreFailed } from '../errors.ts';
import type { TokenFacts } from '../ports/identity.ts';
import type { SessionRecord } from '../ports/records.ts';
import type { Store } from '../ports/store.ts';
import { isSameView, type Owner, type View } from './kind.ts';
import type { LiveSessions } from './live-sessions.ts';
import type { Restorer } from './restorer.ts';
import type { Session } from './session.ts';

/** The state of a client whose protocol has no sessions. */
export interface StateAddress {
  principal: string;
  view: View;
  /** Which of the principal's states it is; without a colon. */
  name: string;
  /** The facts of the client's token. */
  facts?: TokenFacts | undefined;
}

interface NewState {
  id: string;
  view: View;
  owner: Owner;
  facts: TokenFacts | undefined;
  /** Throws if this gateway no longer owns the state. */
  assertOwned: () => void;
}

interface StatesParts {
  store: Pick<Store, 'states'>;
  claims: Claims;
  sessions: LiveSessions;
  restorer: Restorer;
  open: (principal: string, state: NewState) => Promise<Session>;
}

/** The sessions of clients whose protocol has none: found by principal and name, opened or restored on first use. */
export class States {
  readonly #parts: StatesParts;
  /** Sessions being opened. */
  readonly #opening = new Map<string, Promise<Session>>();
  /** Sessions from versions with one state per principal, by the id of the state that adopted them. */
  readonly #adopted = new Map<string, string>();

  constructor(parts: StatesParts) {
    this.#parts = parts;
  }

  get pending(): Promise<unknown>[] {
    return [...this.#opening.values()];
  }

  /** Synchronous if it is in memory, otherwise once it is opened or restored. */
  of(address: StateAddress): Session | Promise<Session> {
    const id = stateId(address);
    const open = this.#parts.sessions.get(this.#adopted.get(id) ?? id);
    if (open !== undefined) return open;
    // Several requests of the same client may arrive at the same moment.
    const opening = this.#opening.get(id) ?? this.#open(address).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return opening;
  }

  /** The most recently used state of the principal for this view. */
  latest(principal: string, view: View): Session | undefined {
    return this.#parts.sessions
      .all()
      .filter((each) => each.principal === principal && isSameView(each.view, view) && isState(each))
      .toSorted((a, b) => b.lastActiveAt - a.lastActiveAt)[0];
  }

  /** The other states of the principal for the same view. */
  async others(own: Session): Promise<Session[]> {
    const { store, sessions, restorer } = this.#parts;
    const { principal, view } = own;
    // A client with a protocol session sees only that session.
    if (!isState(own)) return [];
    const isOther = (each: SessionRecord | Session): boolean =>
      each.id !== own.id && each.principal === principal && isSameView(each.view, view) && isState(each);
    for (const { id } of (await orStoreFailed(store.states(principal))).filter(isOther)) {
      await restorer.restoreIfPossible(id, principal);
    }
    return sessions.all().filter(isOther);
  }

  async #open(address: StateAddress): Promise<Session> {
    const { claims, sessions, restorer, open } = this.#parts;
    const { principal, view, name, facts } = address;
    const id = this.#adopted.get(stateId(address)) ?? stateId(address);
    return untilOwned(async () => {
      const assertOwned = await claims.claimStates(principal);
      await sessions.whenEnded(id);
      const earlier = (await restorer.restore(id, principal)) ?? (await this.#adopt(address));
      return earlier ?? open(principal, { id, view, owner: { kind: 'state', name }, facts, assertOwned });
    });
  }

  /** In earlier versions, all clients of a principal shared a state: the first one to return adopts it. */
  async #adopt(address: StateAddress): Promise<Session | undefined> {
    const { principal, view, name } = address;
    if (view.kind === 'group') return undefined;
    const earlier = await this.#parts.restorer.restore(sharedStateId(principal, view), principal);
    if (earlier?.owner.kind !== 'state') return undefined;
    if (earlier.owner.name === undefined) earlier.setOwner({ kind: 'state', name });
    if (earlier.owner.name !== name) return undefined;
    this.#adopted.set(stateId(address), earlier.id);
    return earlier;
  }
}

/** Names of principals, servers and groups contain no colon. */
function stateId({ principal, view, name }: StateAddress): string {
  return `${viewId(view)}:${name}:${principal}`;
}

function viewId(view: View): string {
  switch (view.kind) {
    case 'hub':
      return 'hub';
    case 'direct':
      return `server:${view.server}`;
    case 'group':
      return `group:${view.group}`;
  }
}

/** The id of the state that all clients of a principal shared in earlier versions, which had no groups. */
function sharedStateId(principal: string, view: Exclude<View, { kind: 'group' }>): string {
  return view.kind === 'hub' ? `principal:${principal}` : `direct:${view.server}:${principal}`;
}

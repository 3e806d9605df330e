import { isState, untilOwned, type Claims } from '../cluster/claims.ts';
import { orStoreFailed } from '../errors.ts';
import type { SessionRecord, Store, TokenFacts } from '../ports.ts';
import { isSameView, type Owner, type View } from './kind.ts';
import type { LiveSessions } from './live-sessions.ts';
import type { Restorer } from './restorer.ts';
import type { Session } from './session.ts';

/** The state of a client that has no session in the protocol. */
export interface StateAddress {
  principal: string;
  view: View;
  /** Which of the principal's states it is; without a colon. */
  name: string;
  /** What the token of the client says, as far as the configuration asks. */
  facts?: TokenFacts | undefined;
}

interface NewState {
  id: string;
  view: View;
  owner: Owner;
  facts: TokenFacts | undefined;
  /** Throws if this gateway may not have it any more. */
  assertOwned: () => void;
}

interface StatesParts {
  store: Pick<Store, 'states'>;
  claims: Claims;
  sessions: LiveSessions;
  restorer: Restorer;
  open: (principal: string, state: NewState) => Promise<Session>;
}

/** The sessions of clients that have none in the protocol: found by principal and name, opened or restored on first use. */
export class States {
  readonly #parts: StatesParts;
  /** Those that are being opened. */
  readonly #opening = new Map<string, Promise<Session>>();
  /** Sessions of versions that kept one state for each principal, by the id of the state that took them over. */
  readonly #adopted = new Map<string, string>();

  constructor(parts: StatesParts) {
    this.#parts = parts;
  }

  get pending(): Promise<unknown>[] {
    return [...this.#opening.values()];
  }

  /** At once if it is there, else when it is opened or restored. */
  of(address: StateAddress): Session | Promise<Session> {
    const id = stateId(address);
    const open = this.#parts.sessions.get(this.#adopted.get(id) ?? id);
    if (open !== undefined) return open;
    // Several requests of the same client may come at the same moment.
    const opening = this.#opening.get(id) ?? this.#open(address).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return opening;
  }

  /** The state of the principal that was used last, of the hub or of one server. */
  latest(principal: string, view: View): Session | undefined {
    return this.#parts.sessions
      .all()
      .filter((each) => each.principal === principal && isSameView(each.view, view) && isState(each))
      .toSorted((a, b) => b.lastActiveAt - a.lastActiveAt)[0];
  }

  /** The other states of the principal that are like this session: of the hub, or of the same server. */
  async others(own: Session): Promise<Session[]> {
    const { store, sessions, restorer } = this.#parts;
    const { principal, view } = own;
    // A client with a session of its own sees that session only.
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

  /** A state of an earlier version of the program belonged to all clients of a principal: the first one to come back has it. */
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

/** Neither names of principals nor of servers and groups have a colon. */
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

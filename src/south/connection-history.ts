import type { Arrival } from '../core/ports/connection.ts';
import type { Dialled } from './dial.ts';
import type { Peer } from './peer/peer.ts';
import { ChildTransport } from './transport/child.ts';

/** A session that the server may still know, and our peer unless it was in another process. */
export interface KnownSession {
  peer: Peer | undefined;
  id: string;
}

/** Earlier connections to a server: whether its process is still the same, and which session can be resumed. */
export class ConnectionHistory {
  #hasConnected = false;
  /** The session id of the last connection, if the server has sessions. */
  #identity: string | undefined;
  /** Our side of the lost connection, as long as the server may still know its session. */
  #lost: Peer | undefined;
  /** A session from before a restart. */
  #earlier: string | undefined;

  constructor(sessionId: string | undefined) {
    this.#earlier = sessionId;
  }

  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  /** Resumes the session in which a task was created: if tasks belong to sessions, no other session has it. */
  adoptSession(sessionId: string | undefined): void {
    if (!this.#hasConnected && sessionId !== undefined) this.#earlier = sessionId;
  }

  /** The session to resume, which a server that was only unreachable may still know. */
  get session(): KnownSession | undefined {
    const id = (this.#lost && this.#identity) ?? this.#earlier;
    if (id === undefined || (this.#lost === undefined && this.#hasConnected)) return undefined;
    return { peer: this.#lost, id };
  }

  sessionForgotten(): void {
    this.#lost = undefined;
  }

  connected({ transport }: Dialled): Arrival {
    const arrival = this.#arrival(transport);
    this.#hasConnected = true;
    this.#identity = transport.sessionId;
    return arrival;
  }

  lost({ peer }: Dialled): void {
    this.#lost = peer;
  }

  #arrival(transport: Dialled['transport']): Arrival {
    if (!this.#hasConnected) return 'first';
    if (transport instanceof ChildTransport) return 'restart';
    return transport.sessionId === this.#identity ? 'blip' : 'restart';
  }
}

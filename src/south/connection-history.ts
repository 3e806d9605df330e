import type { Arrival } from '../core/ports.ts';
import type { ExactClient } from '../lib/sdk/exact-client.ts';
import type { Dialled } from './dial.ts';
import { ChildTransport } from './transport/child.ts';

/** A session that the server may still know, and the client that was in it unless that was another program. */
export interface KnownSession {
  client: ExactClient | undefined;
  id: string;
}

/** What is known of a server from earlier connections: whether it is still the same one, and by what it may know us. */
export class ConnectionHistory {
  #hasConnected = false;
  /** What tells one server from the next, as far as it says so. */
  #identity: string | undefined;
  /** The client that was lost last, as long as its session may still be known. */
  #lost: ExactClient | undefined;
  /** A session with the server that an earlier run of the program left. */
  #earlier: string | undefined;

  constructor(sessionId: string | undefined) {
    this.#earlier = sessionId;
  }

  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  /** The session in which a task was made may still be known; where tasks belong to sessions, only that one has it. */
  adoptSession(sessionId: string | undefined): void {
    if (!this.#hasConnected && sessionId !== undefined) this.#earlier = sessionId;
  }

  /** A server that was only out of reach may still know our session. */
  get session(): KnownSession | undefined {
    const id = (this.#lost && this.#identity) ?? this.#earlier;
    if (id === undefined || (this.#lost === undefined && this.#hasConnected)) return undefined;
    return { client: this.#lost, id };
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

  lost({ client }: Dialled): void {
    this.#lost = client;
  }

  #arrival(transport: Dialled['transport']): Arrival {
    if (!this.#hasConnected) return 'first';
    if (transport instanceof ChildTransport) return 'restart';
    return transport.sessionId === this.#identity ? 'blip' : 'restart';
  }
}

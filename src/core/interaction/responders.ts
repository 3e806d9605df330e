import { InFlight } from '../../lib/in-flight.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';
import type { OpenInteraction } from './interaction.ts';
import { requestOf } from './link.ts';

/**
 * Presents an interaction to a client or model that can answer it now. Returns whether it takes the interaction. `over` is aborted when
 * the answer is no longer needed, because the interaction was answered elsewhere or has ended; a server that withdrew it may
 * have given a reason.
 */
export type Responder = (interaction: OpenInteraction, over: AbortSignal) => boolean;

/**
 * The interactions that a responder takes: those of one call, of one task, those for a model, or all that no other
 * responder takes.
 */
export type ResponderScope = { callId: string } | { taskId: string } | 'model' | 'any';

/** With `handOver`, the client is still connected and keeps a question that another of its calls may have asked. */
export type Unregister = (options?: { handOver?: boolean }) => void;

/** The open interactions, which are offered to responders. */
interface OfferedInteractions {
  open(): OpenInteraction[];
  dispatch(id: string, event: { type: 'offered_again' }): void;
}

interface Registration {
  scope: ResponderScope;
  responder: Responder;
}

/** The registered responders, and which responder has which interaction. An interaction has at most one. */
export class Responders {
  readonly #registered = new InFlight<Registration, Registration>();
  readonly #claims = new LazyMap<string, { by: Registration; over: AbortController }>();

  get size(): number {
    return this.#registered.size;
  }

  isClaimed(id: string): boolean {
    return this.#claims.has(id);
  }

  /** Offers the responder the open interactions. Those it still has when it is unregistered are offered to others. */
  register(scope: ResponderScope, responder: Responder, interactions: OfferedInteractions): Unregister {
    const registration: Registration = { scope, responder };
    this.#registered.add(registration, registration);
    for (const interaction of interactions.open()) {
      if (matches(scope, interaction) && !this.#claims.has(interaction.id)) this.#present(interaction, registration);
    }
    return ({ handOver = false } = {}) => {
      if (!this.#registered.delete(registration) || this.#claims.size === 0) return;
      const left = interactions.open().filter(({ id }) => this.#claims.get(id)?.by === registration);
      const released = handOver ? left.filter((interaction) => !this.#handOver(interaction)) : left;
      for (const { id } of released) this.release(id);
      for (const { id } of released) interactions.dispatch(id, { type: 'offered_again' });
    };
  }

  /** Finds a responder: first of the call, then of the task, then the model, then any. */
  offer(interaction: OpenInteraction): boolean {
    if (this.#claims.has(interaction.id)) return true;
    return this.#registered
      .values()
      .filter(({ scope }) => matches(scope, interaction))
      .toSorted((a, b) => distance(a.scope) - distance(b.scope))
      .some((registration) => this.#present(interaction, registration));
  }

  /** The interaction has ended, or its responder can no longer reach the client. */
  release(id: string, words?: string): void {
    const claim = this.#claims.get(id);
    this.#claims.delete(id);
    claim?.over.abort(words);
  }

  /** Another call of the same client now answers for the interaction, which the client keeps. */
  #handOver(interaction: OpenInteraction): boolean {
    const next = this.#registered.values().find(({ scope }) => isOfCall(scope, interaction));
    const claim = this.#claims.get(interaction.id);
    if (next === undefined || claim === undefined) return false;
    this.#claims.set(interaction.id, { ...claim, by: next });
    return true;
  }

  #present(interaction: OpenInteraction, registration: Registration): boolean {
    const over = new AbortController();
    // Recorded first: a responder may answer synchronously.
    this.#claims.set(interaction.id, { by: registration, over });
    if (registration.responder(interaction, over.signal)) return true;
    this.#claims.delete(interaction.id);
    return false;
  }
}

function matches(scope: ResponderScope, interaction: OpenInteraction): boolean {
  if (scope === 'any') return true;
  if (scope === 'model') return interaction.handledBy === 'model';
  return 'callId' in scope ? isOfCall(scope, interaction) : requestOf(interaction.link)?.taskId === scope.taskId;
}

/** Whether this is the call that asked, or may have asked. */
function isOfCall(scope: ResponderScope, { link }: OpenInteraction): boolean {
  if (typeof scope === 'string' || !('callId' in scope)) return false;
  const request = requestOf(link);
  if (request !== undefined) return request.callId === scope.callId;
  return link.certainty === 'possible' && link.calls.some(({ callId }) => callId === scope.callId);
}

function distance(scope: ResponderScope): number {
  if (scope === 'any') return 3;
  if (scope === 'model') return 2;
  return 'callId' in scope ? 0 : 1;
}

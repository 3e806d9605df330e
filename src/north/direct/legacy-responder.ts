import type { Responder } from '../../core/interaction/responders.ts';
import type { InteractionRouter } from '../../core/interaction/router.ts';
import { requestOf } from '../../core/interaction/link.ts';
import type { Interaction, OpenInteraction } from '../../core/interaction/interaction.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { askClient, type Where } from '../asking/ask-client.ts';
import { canBeAsked, refuseUnaskable } from '../asking/asking.ts';
import type { Params, RequestId } from '../message.ts';
import type { ClientPeer } from '../peer.ts';
import type { LegacyViewParts, LegacyRequest } from './legacy-request.ts';

/** How long a client may take to resume a broken standing stream before others may answer the questions on it. */
const STANDING_GRACE_MS = 5000;

/** Sends the questions of the server to the client, as requests on the streams on which the client can be reached. */
export class LegacyResponder {
  readonly #peer: ClientPeer;
  readonly #parts: LegacyViewParts;
  /** The client's request behind each request to the server that is open. */
  readonly #open = new InFlight<string, { request: RequestId; server: string }>();
  /** Called when the stream of a client's request breaks, and when the client resumes it. */
  readonly #streams = new Map<RequestId, { broken: () => void; back: () => void }>();
  /** Questions sent on the standing stream. */
  readonly #standing = new Set<string>();
  /** Questions without a certain request, and the request on whose stream they were sent. */
  readonly #hosted = new Map<string, RequestId>();
  #stopStandingGrace = (): void => {};

  constructor(peer: ClientPeer, parts: LegacyViewParts) {
    this.#peer = peer;
    this.#parts = parts;
  }

  /** Whether the client can be asked this at all. */
  canAsk(question: Interaction): boolean {
    return canBeAsked(this.#capabilities, question);
  }

  /** Takes questions that belong to no open request, until the returned function is called. */
  registerForAll(): () => void {
    const close = this.#interactions.register('any', (question, over) => this.#askAnywhere(question, over));
    return () => {
      this.#stopStandingGrace();
      close();
    };
  }

  /** Takes the questions of a task while the stream of the request that waits for it is open. */
  registerForTask(taskId: string, { id, exchange }: LegacyRequest): () => void {
    const exposed = this.#parts.session.tasks.find(taskId)?.exposed === true;
    const responder = this.on(id, exposed ? taskId : undefined);
    const register = (): (() => void) => this.#interactions.register({ taskId }, responder);
    let unregister = exchange.open ? register() : (): void => {};
    const back = (): void => {
      unregister();
      unregister = register();
    };
    this.#streams.set(id, { broken: () => unregister(), back });
    return () => {
      this.#streams.delete(id);
      unregister();
    };
  }

  /** Sends questions on the stream of one of the client's requests. */
  on(request: RequestId, taskId?: string): Responder {
    return this.#responder(() => request, taskId);
  }

  /** Sends the questions that certainly belong to a call on the stream of its request; the others: see `registerForAll`. */
  ofCall(request: RequestId): Responder {
    return (question, over) => requestOf(question.link) !== undefined && this.on(request)(question, over);
  }

  /** Links a request to the server with the client's request, until the returned function is called. */
  opened(id: string, request: RequestId, server: string): () => void {
    this.#open.add(id, { request, server });
    return () => this.#open.delete(id);
  }

  /** The client's request behind one to the server. */
  behind(id: string): RequestId | undefined {
    return this.#open.get(id)?.request;
  }

  /** The client has resumed the streams of these requests, or has opened a standing stream. */
  reachable(requests: Iterable<RequestId> | 'standing'): void {
    if (requests === 'standing') this.#releaseStanding();
    else for (const id of requests) this.#streams.get(id)?.back();
    this.#interactions.offerAgain();
  }

  /** The client has resumed the standing stream, and has the questions on it. */
  standingAgain(): void {
    this.#stopStandingGrace();
    this.#interactions.offerAgain();
  }

  /** The streams of these requests, or the standing one, have broken. */
  unreachable(requests: Iterable<RequestId> | 'standing'): void {
    if (requests !== 'standing') {
      for (const id of requests) this.#broken(id);
      return;
    }
    this.#stopStandingGrace();
    const { clock } = this.#parts.session;
    this.#stopStandingGrace = clock.after(STANDING_GRACE_MS, () => this.#releaseStanding(), { unref: true });
  }

  get #interactions(): InteractionRouter {
    return this.#parts.session.interactions;
  }

  get #capabilities(): Params {
    return this.#parts.session.client?.capabilities ?? {};
  }

  #broken(request: RequestId): void {
    this.#streams.get(request)?.broken();
    for (const id of this.#open.keys()) if (this.behind(id) === request) this.#open.delete(id);
    // Questions without a certain request move to another stream.
    const left = [...this.#hosted].filter(([, on]) => on === request).map(([id]) => id);
    for (const id of left) this.#interactions.release(id);
  }

  /** The client has not seen the questions on the standing stream, or has left. */
  #releaseStanding(): void {
    this.#stopStandingGrace();
    // Released questions may be sent there again immediately.
    const asked = [...this.#standing];
    for (const id of asked) this.#interactions.release(id);
  }

  #askAnywhere(question: OpenInteraction, over: AbortSignal): boolean {
    const { session, alone = false } = this.#parts;
    const { taskId } = requestOf(question.link) ?? {};
    if (canBeAsked(this.#capabilities, question)) {
      // The client of a task gets its questions with `tasks/result`.
      if (taskId !== undefined && session.tasks.find(taskId)?.exposed) return false;
      return this.#responder(() => this.#host(question, over))(question, over);
    }
    return alone && refuseUnaskable(session.interactions, () => this.#capabilities)(question, over);
  }

  /** Sends questions on the stream of the request that `on` returns, or else on the standing stream. */
  #responder(on: () => RequestId | undefined, taskId?: string): Responder {
    const { carrier, session } = this.#parts;
    return (question, over) => {
      if (!canBeAsked(this.#capabilities, question) || (on() === undefined && !carrier.reaches())) return false;
      const where = (): Where | undefined => {
        const request = on();
        return request === undefined ? this.#onStanding(question, over) : { on: request };
      };
      void askClient(question, over, { peer: this.#peer, session, where, taskId });
      return true;
    };
  }

  #host({ id, server, link }: Interaction, over: AbortSignal): RequestId | undefined {
    const own = this.#open.get(requestOf(link)?.callId ?? '');
    const { request } = own ?? this.#open.values().find((open) => open.server === server) ?? {};
    if (request === undefined) return undefined;
    this.#hosted.set(id, request);
    over.addEventListener('abort', () => this.#hosted.delete(id), { once: true });
    return request;
  }

  #onStanding({ id }: Interaction, over: AbortSignal): 'standing' | undefined {
    if (!this.#parts.carrier.reaches()) return undefined;
    this.#standing.add(id);
    over.addEventListener('abort', () => this.#standing.delete(id), { once: true });
    return 'standing';
  }
}

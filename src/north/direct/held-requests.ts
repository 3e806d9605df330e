import type { Session } from '../../core/session/session.ts';
import type { Clock } from '../../lib/clock.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import { canBeAsked } from '../asking/asking.ts';
import type { Params } from '../message.ts';

/** How long a result is kept for a client that was asked and has not returned. */
const KEEP_MS = 60_000;

interface HeldRequestParts {
  session: Session;
  server: string;
  id: string;
  /** Those of the client. */
  capabilities: Params;
  start: (signal: AbortSignal) => Promise<Params>;
}

/** A request that is open at the server while its client answers questions and then returns for the result. */
export class HeldRequest {
  readonly id: string;
  readonly #stop = new AbortController();
  readonly #outcome: Promise<Params>;
  #asked = new Promise<'asked'>(() => {});
  #ring = (): void => {};

  constructor({ session, server, id, capabilities, start }: HeldRequestParts) {
    this.id = id;
    this.#listen();
    const unregister = session.interactions.register({ callId: id }, (interaction) => {
      if (!canBeAsked(capabilities, interaction)) return false;
      this.#ring();
      return true;
    });
    const removeHost = session.interactions.addHost({ id, server, tellsRoots: isObject(capabilities['roots']) });
    this.#outcome = start(this.#stop.signal).finally(() => {
      removeHost({ aborted: this.#stop.signal.aborted });
      unregister();
      session.interactions.requestEnded(id);
    });
    // `next` reports a failure.
    this.#outcome.catch(() => {});
  }

  /** Resolves with the result, or when the server asks a question. */
  async next(): Promise<{ result: Params } | 'asked'> {
    const next = await Promise.race([this.#outcome.then((result) => ({ result })), this.#asked]);
    if (next === 'asked') this.#listen();
    return next;
  }

  /** The client no longer wants the result; `words`: its reason, if any. */
  stop(words?: string): void {
    this.#stop.abort(words);
  }

  async ended(): Promise<void> {
    await this.#outcome.catch(() => {});
  }

  #listen(): void {
    this.#asked = new Promise((resolve) => {
      this.#ring = () => resolve('asked');
    });
  }
}

/** The held requests of one client. */
export class HeldRequests {
  readonly #held = new Map<string, HeldRequest>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Lets the client return to it, until some time after its end. */
  keep(held: HeldRequest): void {
    if (this.#held.has(held.id)) return;
    this.#held.set(held.id, held);
    void held.ended().then(() => {
      this.#clock.after(KEEP_MS, () => this.#held.delete(held.id), { unref: true });
    });
  }

  get(id: string): HeldRequest {
    const held = this.#held.get(id);
    if (held === undefined)
      throw new RpcError(
        INVALID_PARAMS,
        'requestState refers to a request that has ended; send the request again without requestState',
      );
    return held;
  }
}

/**
 * Claim attempts without an answer: this gateway may hold the claim, or obtain it when a statement arrives late, and does
 * not know. Other gateways would leave such a session to it forever. So each is claimed once more, which reveals the state, and
 * released: soon, and again when no late statement can arrive.
 */

import { setTimeout as delay } from 'node:timers/promises';

const RETRY_MS = 1000;
/** For how long a statement may still arrive, and then wait for a lock. */
const LATE_MS = 20_000;

export interface DoubtfulClaimsOptions {
  /** Claims and releases the session, if it is free or held by this gateway without its knowledge. */
  giveBack: (sessionId: string) => Promise<void>;
  /** Called when sessions may have become free. */
  onFree: () => void;
}

interface Doubt {
  /** After this time no late statement can arrive. */
  certainAt: number;
  /** It was released once. */
  tried: boolean;
}

export class DoubtfulClaims {
  readonly #options: DoubtfulClaimsOptions;
  readonly #doubts = new Map<string, Doubt>();
  readonly #closing = new AbortController();
  #isBusy = false;
  /** The release in progress. */
  #current: { sessionId: string; over: Promise<void> } | undefined;

  constructor(options: DoubtfulClaimsOptions) {
    this.#options = options;
  }

  add(sessionId: string): void {
    this.#doubts.set(sessionId, { certainAt: performance.now() + LATE_MS, tried: false });
    if (!this.#isBusy) void this.#run();
  }

  /** Resolves when the session is not being released; until then it cannot be claimed here. */
  async over(sessionId: string): Promise<void> {
    if (this.#current?.sessionId === sessionId) await this.#current.over;
  }

  close(): void {
    this.#closing.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    this.#isBusy = true;
    while (this.#doubts.size > 0 && !signal.aborted) {
      await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.#tryAll();
    }
    this.#isBusy = false;
  }

  /** Stops at the first failure: the database is still unreachable. */
  async #tryAll(): Promise<void> {
    let gaveBack = false;
    for (const [sessionId, doubt] of this.#doubts) {
      const isCertain = performance.now() >= doubt.certainAt;
      if (doubt.tried && !isCertain) continue;
      if (!(await this.#giveBack(sessionId))) break;
      gaveBack = true;
      doubt.tried = true;
      // Unless it was tried without an answer again meanwhile.
      if (isCertain && this.#doubts.get(sessionId) === doubt) this.#doubts.delete(sessionId);
    }
    if (gaveBack) this.#options.onFree();
  }

  async #giveBack(sessionId: string): Promise<boolean> {
    const given = this.#options.giveBack(sessionId).then(
      () => true,
      () => false,
    );
    const current = { sessionId, over: given.then(() => {}) };
    this.#current = current;
    const isGiven = await given;
    if (this.#current === current) this.#current = undefined;
    return isGiven;
  }
}

/**
 * Claims that were tried without an answer: this gateway may have made them, or make them when a statement arrives late, and does
 * not know. Other gateways would leave such a session to it for ever. So each is claimed once more, which tells, and given
 * back: soon, and again when nothing can arrive any more.
 */

import { setTimeout as delay } from 'node:timers/promises';

const RETRY_MS = 1000;
/** For how long a statement may still arrive, and then wait for a lock. */
const LATE_MS = 20_000;

export interface DoubtfulClaimsOptions {
  /** Claims the session and gives it back, if it is free or this gateway does not know that it has it. */
  giveBack: (sessionId: string) => Promise<void>;
  /** Told when sessions may be free now. */
  onFree: () => void;
}

interface Doubt {
  /** From then on nothing can arrive. */
  certainAt: number;
  /** It was given back, as far as it had arrived then. */
  tried: boolean;
}

export class DoubtfulClaims {
  readonly #options: DoubtfulClaimsOptions;
  readonly #doubts = new Map<string, Doubt>();
  readonly #closing = new AbortController();
  #isBusy = false;
  /** What is being given back. */
  #current: { sessionId: string; over: Promise<void> } | undefined;

  constructor(options: DoubtfulClaimsOptions) {
    this.#options = options;
  }

  add(sessionId: string): void {
    this.#doubts.set(sessionId, { certainAt: performance.now() + LATE_MS, tried: false });
    if (!this.#isBusy) void this.#run();
  }

  /** Resolves when the session is not being given back: until then it cannot be claimed here. */
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

  /** Ends at the first that fails: the database is still not there. */
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

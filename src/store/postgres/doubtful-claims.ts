/**
 * Claims that were tried without an answer: this gateway may have made them, and does not know. Other gateways would leave such a
 * session to it for ever. So each is claimed once more, which tells, and given back.
 */

import { setTimeout as delay } from 'node:timers/promises';

const RETRY_MS = 1000;

export interface DoubtfulClaimsOptions {
  /** Claims the session and gives it back, if it is free or this gateway's. */
  giveBack: (sessionId: string) => Promise<void>;
  /** Told when sessions may be free now. */
  onFree: () => void;
}

export class DoubtfulClaims {
  readonly #options: DoubtfulClaimsOptions;
  readonly #sessions = new Set<string>();
  readonly #closing = new AbortController();
  #isBusy = false;

  constructor(options: DoubtfulClaimsOptions) {
    this.#options = options;
  }

  add(sessionId: string): void {
    this.#sessions.add(sessionId);
    if (!this.#isBusy) void this.#giveBack();
  }

  close(): void {
    this.#closing.abort();
  }

  async #giveBack(): Promise<void> {
    const { signal } = this.#closing;
    this.#isBusy = true;
    while (this.#sessions.size > 0 && !signal.aborted) {
      await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.#tryAll();
    }
    this.#isBusy = false;
  }

  /** Ends at the first that fails: the database is still not there. */
  async #tryAll(): Promise<void> {
    const { giveBack, onFree } = this.#options;
    try {
      for (const sessionId of this.#sessions) {
        await giveBack(sessionId);
        this.#sessions.delete(sessionId);
      }
      onFree();
    } catch {}
  }
}

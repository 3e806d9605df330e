import type { Accounts } from '../ports.ts';

/** Tells the sessions of a gateway when one of their principals has signed in at a server. */
export class SignInWatch {
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly close: () => void;

  /** `onChange` is told of everybody. */
  constructor(accounts: Pick<Accounts, 'watch'>, onChange: (principal: string, server: string) => void) {
    this.close = accounts.watch((principal, server) => {
      // Those who are told may wait again at once.
      const told = [...(this.#listeners.get(keyOf(principal, server)) ?? [])];
      for (const listener of told) listener();
      onChange(principal, server);
    });
  }

  /** Until the returned function is called. */
  on(principal: string, server: string, listener: () => void): () => void {
    const key = keyOf(principal, server);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(key);
    };
  }
}

/** The name of a server has no line break. */
const keyOf = (principal: string, server: string): string => `${server}\n${principal}`;

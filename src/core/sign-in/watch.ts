import type { Accounts } from '../ports/accounts.ts';

/** Notifies the sessions of a gateway when one of their principals has signed in to a server. */
export class SignInWatch {
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly close: () => void;

  /** `onChange` is called for all principals. */
  constructor(accounts: Pick<Accounts, 'watch'>, onChange: (principal: string, server: string) => void) {
    this.close = accounts.watch((principal, server) => {
      // Copied, because a listener may subscribe again at once.
      const told = [...(this.#listeners.get(keyOf(principal, server)) ?? [])];
      for (const listener of told) listener();
      onChange(principal, server);
    });
  }

  /** Calls the listener until the returned function is called. */
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

/** Unambiguous, because the name of a server contains no line break. */
const keyOf = (principal: string, server: string): string => `${server}\n${principal}`;

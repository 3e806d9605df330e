/** Loads the accounts on first use: if a server has `auth` in the config or refuses a request, or if tokens are stored. */

import type { AccountStore } from '../ports/account-store.ts';
import type { AccountAt, Accounts, AccountTokens, AfterRefusal, AuthChallenge } from '../ports/accounts.ts';

export interface LazyParts {
  store: () => AccountStore;
  load: () => Promise<Accounts>;
}

export function lazyAccounts({ store, load }: LazyParts): Accounts {
  let accounts: Accounts | undefined;
  let loading: Promise<Accounts> | undefined;
  /** Whether the store has no accounts. Accounts that other gateways store later are found when a server refuses a request. */
  let isEmpty: boolean | undefined;
  const watchers = new Map<(principal: string, server: string) => void, () => void>();

  const loaded = async (): Promise<Accounts> => {
    loading ??= load().then((made) => {
      accounts = made;
      for (const watcher of watchers.keys()) watchers.set(watcher, made.watch(watcher));
      return made;
    });
    return loading;
  };

  const source: TokenSource = {
    loaded,
    get accounts() {
      return accounts;
    },
    isEmpty: () =>
      isEmpty ??
      store()
        .isEmpty()
        .then((empty) => (isEmpty ??= empty)),
  };

  return {
    tokens: (at) => new LazyTokens(at, source),
    signIn: async (...given) => (await loaded()).signIn(...given),
    findSignIn: async (id) => (await loaded()).findSignIn(id),
    authorizationUrl: async (id) => (await loaded()).authorizationUrl(id),
    complete: async (...given) => (await loaded()).complete(...given),
    watch: (watcher) => {
      watchers.set(watcher, accounts?.watch(watcher) ?? (() => {}));
      return () => {
        watchers.get(watcher)?.();
        watchers.delete(watcher);
      };
    },
    list: async (principal) => (await loaded()).list(principal),
    signOut: async (principal, server) => (await loaded()).signOut(principal, server),
    forgetServer: async (...given) => {
      if (accounts === undefined && (await store().isEmpty())) return;
      await (await loaded()).forgetServer(...given);
    },
  };
}

interface TokenSource {
  /** Once they have been loaded. */
  readonly accounts: Accounts | undefined;
  loaded: () => Promise<Accounts>;
  /** Whether no account is stored. */
  isEmpty: () => boolean | Promise<boolean>;
}

/** The tokens of one account. Every connection has them, usually without an account. */
class LazyTokens implements AccountTokens {
  readonly #at: AccountAt;
  readonly #source: TokenSource;
  #tokens: AccountTokens | undefined;

  constructor(at: AccountAt, source: TokenSource) {
    this.#at = at;
    this.#source = source;
  }

  current(): string | undefined | Promise<string | undefined> {
    const { auth } = this.#at.config;
    if (auth === false) return undefined;
    this.#tokens ??= this.#source.accounts?.tokens(this.#at);
    if (this.#tokens) return this.#tokens.current();
    if (auth) return this.#load().then(async (tokens) => tokens.current());
    const isEmpty = this.#source.isEmpty();
    if (isEmpty === true) return undefined;
    return isEmpty === false ? this.#first(isEmpty) : isEmpty.then((empty) => this.#first(empty));
  }

  async refused(token: string | undefined, challenge: AuthChallenge): Promise<AfterRefusal> {
    return (await this.#load()).refused(token, challenge);
  }

  async #first(isEmpty: boolean): Promise<string | undefined> {
    return isEmpty ? undefined : (await this.#load()).current();
  }

  async #load(): Promise<AccountTokens> {
    return (this.#tokens ??= (await this.#source.loaded()).tokens(this.#at));
  }
}

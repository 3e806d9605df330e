/** Loads the accounts on first use: if a server has `auth` in the config or refuses a request, or if tokens are stored. */

import type { AccountStore } from '../ports/account-store.ts';
import type { Accounts, AccountTokens } from '../ports/accounts.ts';

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

  return {
    tokens: (at): AccountTokens => {
      let tokens: AccountTokens | undefined;
      const load = async (): Promise<AccountTokens> => (tokens ??= (await loaded()).tokens(at));
      const first = async (): Promise<string | undefined> => {
        isEmpty ??= await store().isEmpty();
        return isEmpty ? undefined : (await load()).current();
      };
      return {
        current: () => {
          if (at.config.auth === false) return undefined;
          tokens ??= accounts?.tokens(at);
          if (tokens) return tokens.current();
          if (at.config.auth) return load().then(async (each) => each.current());
          return isEmpty === true ? undefined : first();
        },
        refused: async (token, challenge) => (await load()).refused(token, challenge),
      };
    },
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

/** The accounts of principals on servers that require a sign-in. Loaded when the first server requires one. */

import type { TokensChange } from '../../core/ports/account-store.ts';
import type {
  Accounts,
  AccountAt,
  AccountState,
  AccountTokens,
  AuthChallenge,
  SignIn,
} from '../../core/ports/accounts.ts';
import type { HttpServerConfig, ServerConfig } from '../../core/ports/server-config.ts';
import type { Store } from '../../core/ports/store.ts';
import type { AllowedAddresses } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { every, within } from '../../lib/timers.ts';
import { Account } from './account.ts';
import { Clients } from './clients.ts';
import { discoverAuthorizationServer } from './discovery.ts';
import { AuthFailure } from './failure.ts';
import { loadKeys, type KeySettings } from './keys.ts';
import { EVERYBODY, isProgram, accountOwnerOf } from './owner.ts';
import type { Shared } from './parts.ts';
import { ProgramAccount } from './program-account.ts';
import { reachFor } from './reach.ts';
import { AccountRecords, type DecryptedRecord, type TokensRecord } from './records.ts';
import { RefusedSignIns } from './refused-sign-ins.ts';
import { createSafeFetch, type SafeFetch } from './safe-fetch.ts';
import { createSealer, type Sealer } from './sealed.ts';
import { SignIns } from './sign-ins.ts';
import { revokeToken } from './token-endpoint.ts';

export interface AccountsParts {
  store: Store;
  keys: KeySettings;
  /** The servers of the config file. */
  servers: ReadonlyMap<string, ServerConfig>;
  /** The addresses allowed for servers that clients add. */
  addServerAddresses: AllowedAddresses;
  /** Where the browser returns after a sign-in; `undefined` if the gateway does not listen. */
  redirectUri: () => string | undefined | Promise<string | undefined>;
  publicUrl?: string | undefined;
  clock: Clock;
  log: Log;
}

/** The limit on accounts in memory; others are read again. */
const MAX_ACCOUNTS = 10_000;
/** How often the gateway checks for sign-ins completed on other gateways, in case a notification was lost. */
const LOOK_MS = 5000;
/** How often to try to delete tokens that are renewed at the same time. */
const SIGN_OUT_ATTEMPTS = 5;
/** An authorization server that does not respond must not delay a sign-out any longer. */
const REVOKE_MS = 10_000;

interface KnownAccount {
  account: Account | ProgramAccount;
  owner: string;
  server: string;
  /** The principals that use the account on this gateway. */
  principals: Set<string>;
}

type Watcher = (principal: string, server: string) => void;

/** Selects tokens to delete: of one principal or of all; with a URL, only those for the server at that URL. */
interface Forgotten {
  principal?: string;
  server: string;
  url?: string;
}

/** The store cannot filter by URL, which is encrypted. */
const forStore = ({ url: _url, ...account }: Forgotten): Omit<Forgotten, 'url'> => account;

export function createAccounts(parts: AccountsParts): Accounts {
  return new AllAccounts(parts);
}

class AllAccounts implements Accounts {
  readonly #parts: AccountsParts;
  readonly #records: AccountRecords;
  readonly #shared: Shared;
  readonly #signIns: SignIns;
  readonly #accounts = new Map<string, KnownAccount>();
  readonly #watchers = new Set<Watcher>();
  /** Sign-ins that began on this gateway and may end on another. */
  readonly #waiting = new Map<string, { owner: string; server: string; expiresAt: number }>();
  #stopLooking: (() => void) | undefined;
  #sealer: Promise<Sealer> | undefined;

  constructor(parts: AccountsParts) {
    this.#parts = parts;
    const { store, clock, log, publicUrl, redirectUri } = parts;
    this.#records = new AccountRecords({ store: store.accounts, sealer: async () => this.#loadSealer(), clock, log });
    this.#shared = {
      records: this.#records,
      clients: new Clients({ records: this.#records, clock, publicUrl }),
      refused: new RefusedSignIns(this.#records, clock),
      clock,
      log,
      redirectUri,
      fetchFor: async (server, config) => this.#fetchFor(server, config),
      changed: (...change) => this.#changed(...change),
      revoke: async (tokens) => this.#revoke(tokens),
    };
    this.#signIns = new SignIns(this.#shared);
    store.accounts.watch((changed) => {
      if (changed) return this.#changed(changed.principal, changed.server, changed.what);
      for (const { account } of this.#accounts.values()) account.forget();
      void this.#look();
    });
  }

  tokens(at: AccountAt): AccountTokens {
    const { server, config } = at;
    // A different configuration makes a different account.
    const key = JSON.stringify([accountOwnerOf(at), server, config.url, config.auth, config.headers]);
    return {
      current: () => this.#account(key, at).current(),
      refused: async (token, challenge) => {
        const after = await this.#account(key, at).refused(token, challenge);
        if (after.then === 'sign_in') this.#waitFor(at, after.signIn);
        return after;
      },
    };
  }

  async signIn(at: AccountAt, challenge?: AuthChallenge): Promise<SignIn> {
    await this.#shared.refused.forget({ principal: accountOwnerOf(at), server: at.server, url: at.config.url });
    const signIn = await this.#signIns.begin(at, { challenge });
    this.#waitFor(at, signIn);
    return signIn;
  }

  async findSignIn(id: string): Promise<SignIn | undefined> {
    return this.#signIns.find(id);
  }

  async authorizationUrl(signInId: string): Promise<URL> {
    return this.#signIns.authorizationUrl(signInId);
  }

  async complete(parameters: URLSearchParams, path?: string): Promise<SignIn> {
    return this.#signIns.complete(parameters, path);
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  async list(principal?: string): Promise<AccountState[]> {
    const owners = principal === undefined ? [{}] : [{ principal }, { principal: EVERYBODY }];
    const found = await Promise.all(owners.map(async (owner) => this.#records.list('tokens', owner)));
    return found.flat().map(({ value }) => stateOf(value));
  }

  async signOut(principal: string, server: string): Promise<boolean> {
    const dropped = await this.#dropTokens({ principal, server });
    await this.#forgetRest({ principal, server });
    await Promise.all(dropped.map(async (tokens) => this.#revoke(tokens)));
    return dropped.length > 0;
  }

  async forgetServer(server: string, url: string, principal?: string): Promise<void> {
    const account = { server, url, ...(principal !== undefined && { principal }) };
    // Otherwise a waiting sign-in could still be completed.
    for (const kept of await this.#records.list('sign_in', forStore(account)))
      if (kept.value.url === url) await this.#records.drop(kept);
    const dropped = await this.#dropTokens(account);
    await this.#forgetRest(account);
    for (const tokens of dropped) void this.#revoke(tokens);
  }

  /** Deletes the tokens, and returns them to be revoked. */
  async #dropTokens(account: Forgotten): Promise<TokensRecord[]> {
    const { server, url } = account;
    await this.#records.dropUnreadable('tokens', forStore(account));
    const dropped: TokensRecord[] = [];
    const isMeant = ({ value }: DecryptedRecord<'tokens'>): boolean => url === undefined || value.url === url;
    for (let attempt = 0; attempt < SIGN_OUT_ATTEMPTS; attempt += 1) {
      const found = (await this.#records.list('tokens', forStore(account))).filter(isMeant);
      if (found.length === 0) return dropped;
      for (const kept of found) {
        // The next attempt finds tokens that were renewed meanwhile.
        if (!(await this.#records.drop(kept))) continue;
        dropped.push(kept.value);
        this.#changed(kept.value.owner, server, 'signed_out');
      }
    }
    throw new AuthFailure(`the tokens for '${server}' are being renewed; sign out again`, { mayPass: true });
  }

  /** Deletes the records that are useless without the tokens. */
  async #forgetRest(account: Forgotten): Promise<void> {
    await this.#shared.refused.forget(account);
    await this.#shared.clients.dropUnused(account.server);
  }

  /** Only logs a failure: the tokens are already deleted, so the gateway no longer uses them. */
  async #revoke(tokens: TokensRecord): Promise<void> {
    const { server, issuer } = tokens;
    const revoking = this.#revokeAt(tokens).then(
      () => 'revoked',
      (error: unknown) => messageOf(error),
    );
    const end = (await within(REVOKE_MS, revoking, this.#parts.clock)) ?? 'no response in time';
    if (end !== 'revoked') this.#parts.log.warn('token_not_revoked', { server, issuer, error: end });
  }

  async #revokeAt({ server, url, issuer, client, refreshToken, accessToken }: TokensRecord): Promise<void> {
    const fetch = await this.#fetchFor(server, { url });
    const authorizationServer = await discoverAuthorizationServer(fetch, issuer);
    // Revoking the refresh token also revokes its access tokens.
    const token =
      refreshToken === undefined
        ? { value: accessToken, hint: 'access_token' as const }
        : { value: refreshToken, hint: 'refresh_token' as const };
    await revokeToken(fetch, authorizationServer, client, token);
  }

  #account(key: string, at: AccountAt): Account | ProgramAccount {
    let known = this.#accounts.get(key);
    if (known === undefined) {
      const [oldest] = this.#accounts;
      if (this.#accounts.size >= MAX_ACCOUNTS && oldest?.[1].account.isIdle === true) this.#accounts.delete(oldest[0]);
      const { server } = at;
      const account = isProgram(at)
        ? new ProgramAccount(at, this.#shared)
        : new Account(at, this.#shared, this.#signIns);
      known = { account, owner: accountOwnerOf(at), server, principals: new Set() };
      this.#accounts.set(key, known);
    }
    known.principals.add(at.principal);
    return known.account;
  }

  /** Drops the cached tokens, and notifies the watchers of a sign-in. */
  #changed(owner: string, server: string, what: TokensChange): void {
    const principals = new Set(owner === EVERYBODY ? [] : [owner]);
    for (const known of this.#accounts.values()) {
      if (known.server !== server || known.owner !== owner) continue;
      known.account.forget();
      for (const principal of known.principals) principals.add(principal);
    }
    if (what !== 'signed_in') return;
    for (const [id, each] of this.#waiting)
      if (each.owner === owner && each.server === server) this.#waiting.delete(id);
    for (const principal of principals) for (const watcher of this.#watchers) watcher(principal, server);
  }

  /** If several gateways share a store, another one may complete the sign-in. */
  #waitFor(at: AccountAt, { id, server, expiresAt }: SignIn): void {
    if (this.#parts.store.cluster === undefined) return;
    this.#waiting.set(id, { owner: accountOwnerOf(at), server, expiresAt });
    this.#stopLooking ??= every(LOOK_MS, () => void this.#look(), this.#parts.clock);
  }

  async #look(): Promise<void> {
    for (const [id, { owner, server, expiresAt }] of this.#waiting) {
      const found = await this.#signIns.find(id).catch(() => 'unknown');
      if (found !== undefined || !this.#waiting.delete(id)) continue;
      if (this.#parts.clock.now() < expiresAt) this.#changed(owner, server, 'signed_in');
    }
    if (this.#waiting.size > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }

  async #fetchFor(server: string, { url }: HttpServerConfig): Promise<SafeFetch> {
    const configured = this.#parts.servers.get(server);
    const isOperators = configured !== undefined && 'url' in configured && configured.url === url;
    const reach = isOperators
      ? { config: configured }
      : { config: { url }, forClients: this.#parts.addServerAddresses };
    return createSafeFetch({ mayReach: await reachFor(reach), origin: new URL(url).origin });
  }

  async #loadSealer(): Promise<Sealer> {
    this.#sealer ??= loadKeys(this.#parts.keys, this.#parts.log).then(createSealer);
    this.#sealer.catch(() => {
      // The next caller tries again: the key file may exist by then.
      this.#sealer = undefined;
    });
    return this.#sealer;
  }
}

function stateOf({ owner, server, issuer, scopes, expiresAt, refreshToken }: TokensRecord): AccountState {
  return {
    principal: owner,
    server,
    issuer,
    scopes,
    ...(expiresAt !== undefined && { expiresAt }),
    renewable: refreshToken !== undefined,
  };
}

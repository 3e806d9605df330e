/** Accounts of one gateway, or of several that share a store, and a person who signs in. */
import { createAccounts, type AccountsParts } from '../../../src/auth/accounts/accounts.ts';
import type { AccountAt, Accounts, AfterRefusal, AuthChallenge, SignIn } from '../../../src/core/ports/accounts.ts';
import type { ServerAuth } from '../../../src/core/ports/server-config.ts';
import type { Store } from '../../../src/core/ports/store.ts';
import { createLog } from '../../../src/lib/log.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';

export const REDIRECT_URI = 'http://127.0.0.1:8080/oauth/callback';
export const KEY = 'a'.repeat(64);

export interface TestAccounts {
  accounts: Accounts;
  store: Store;
  clock: JumpingClock;
  logs: string[];
}

export function testAccounts(
  database = new MemoryDatabase(),
  more: Partial<AccountsParts> = {},
): TestAccounts & { database: MemoryDatabase } {
  const store = database.open({ shared: true });
  const clock = new JumpingClock();
  const logs: string[] = [];
  const accounts = createAccounts({
    store,
    keys: { encryptionKey: KEY, store: ':memory:' },
    servers: new Map(),
    addServerAddresses: 'any',
    redirectUri: () => REDIRECT_URI,
    clock,
    log: createLog('debug', (line) => logs.push(line)),
    ...more,
  });
  return { accounts, store, clock, logs, database };
}

export const at = (url: string, auth?: Partial<ServerAuth> | false, principal = 'ann'): AccountAt => ({
  principal,
  server: 'files',
  config: {
    url,
    ...(auth !== undefined && { auth: auth === false ? false : { grant: 'authorization_code', ...auth } }),
  },
});

export const UNAUTHORIZED: AuthChallenge = { status: 401 };

export function signInOf(after: AfterRefusal): SignIn {
  if (after.then !== 'sign_in') throw new Error(JSON.stringify(after));
  return after.signIn;
}

/** What the browser comes back with. */
export async function comeBack(accounts: Accounts, signIn: SignIn): Promise<URLSearchParams> {
  return (await comeBackTo(accounts, signIn)).searchParams;
}

/** Where the authorization server sends the browser back to. */
export async function comeBackTo(accounts: Accounts, { id }: SignIn): Promise<URL> {
  const response = await fetch(await accounts.authorizationUrl(id), { redirect: 'manual' });
  await response.body?.cancel();
  const location = response.headers.get('location');
  if (location === null) throw new Error(`status ${response.status}`);
  return new URL(location);
}

/** A server has refused a request without a token, and the person signs in; resolves with the token. */
export async function signedIn(accounts: Accounts, account: AccountAt, challenge = UNAUTHORIZED): Promise<string> {
  const after = await accounts.tokens(account).refused(undefined, challenge);
  const { searchParams, pathname } = await comeBackTo(accounts, signInOf(after));
  await accounts.complete(searchParams, pathname);
  const token = await accounts.tokens(account).current();
  if (token === undefined) throw new Error('no token');
  return token;
}

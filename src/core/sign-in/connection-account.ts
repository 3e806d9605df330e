import type { AccountTokens, SignIn } from '../ports/accounts.ts';
import type { HttpServerConfig } from '../ports/server-config.ts';

/** The account that a connection to a server uses. */
export interface ConnectionAccount {
  tokens: AccountTokens;
  /** The page on which a person starts the sign-in. */
  linkTo: (signIn: SignIn) => Promise<string | undefined>;
}

/** Whether the config contains the credentials or `auth: false`, so that the connection uses no account. */
export function hasOwnCredentials({ url, headers = {}, auth }: HttpServerConfig): boolean {
  const { username, password } = new URL(url);
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  return auth === false || isGiven || username !== '' || password !== '';
}

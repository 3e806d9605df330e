import type { AccountTokens, HttpServerConfig, SignIn } from '../ports.ts';

/** The account that a connection to a server uses. */
export interface ConnectionAccount {
  tokens: AccountTokens;
  /** The page on which a person begins the sign-in. */
  linkTo: (signIn: SignIn) => Promise<string | undefined>;
}

/** Whether the config names the credentials of every request, or says `auth: false`: then there is no account to use. */
export function hasOwnCredentials({ url, headers = {}, auth }: HttpServerConfig): boolean {
  const { username, password } = new URL(url);
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  return auth === false || isGiven || username !== '' || password !== '';
}

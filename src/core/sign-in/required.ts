/** The error of a server that requires a sign-in. */

import { hostOf } from '../../lib/host-of.ts';
import { LOCAL_PRINCIPAL } from '../../lib/local-principal.ts';
import { ServerFailure } from '../../lib/server-failure.ts';
import type { NeededSignIn } from '../ports/accounts.ts';

/** The server refused a request without processing it: a person has to sign in first. */
export class SignInRequired extends ServerFailure {
  override readonly name = 'SignInRequired';
  readonly signIn: NeededSignIn;

  constructor(signIn: NeededSignIn) {
    super('sign_in', howToSignIn(signIn));
    this.signIn = signIn;
  }
}

/** The sign-in that an error or one of its causes requires. */
export function signInIn(error: unknown): NeededSignIn | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < 10; depth += 1) {
    if (each instanceof SignInRequired) return each.signIn;
    each = each.cause;
  }
  return undefined;
}

function howToSignIn({ principal, server, issuer, url }: NeededSignIn): string {
  const page = url === undefined ? '' : `open ${url}, or `;
  // Without a token, the command signs in as the local principal.
  const gateway = url === undefined ? 'GATEWAY' : new URL(url).origin;
  const as = principal === LOCAL_PRINCIPAL ? '' : ` --url ${gateway} --token TOKEN`;
  return `you have to sign in to ${hostOf(issuer)} first: ${page}run \`meanwhile login ${server}${as}\``;
}

/** The page on which a person starts a sign-in. It has no scripts, and escapes all external text. */

import type { SignIn } from '../../core/ports/accounts.ts';
import { cleanLine } from '../../lib/clean.ts';
import { hostOf } from '../../lib/host-of.ts';
import { escape, layout } from '../answer/html.ts';

/** The viewer of the page: the person whose calls wait, or an operator. */
export type Visitor = 'the person' | { operator: string };

export interface SignInPage {
  signIn: SignIn;
  visitor: Visitor;
  /** Whether the gateway has several principals, so that the page names the one whose calls wait. */
  namesPrincipal: boolean;
}

export function signInPage({ signIn, visitor, namesPrincipal }: SignInPage): string {
  const server = cleanLine(signIn.server);
  const title = `Sign in to use ${server}`;
  const facts: [string, string][] = [
    ['Server', server],
    ['Authorization server', hostOf(signIn.issuer)],
    ['Scopes', signIn.scopes.length === 0 ? 'as shown on the next page' : signIn.scopes.map(cleanLine).join(', ')],
    ...(namesPrincipal ? [['For', cleanLine(signIn.principal)] as [string, string]] : []),
  ];
  const list = facts.map(([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`).join('\n');
  return layout(
    title,
    `<h1>${escape(title)}</h1>\n<dl>\n${list}\n</dl>\n<form method="post">\n${formFor(signIn, visitor)}\n</form>`,
  );
}

function formFor({ principal, server, issuer }: SignIn, visitor: Visitor): string {
  const host = escape(hostOf(issuer));
  if (visitor === 'the person') {
    return `<p>After you sign in, the calls that wait for ${escape(cleanLine(server))} continue automatically.</p>
<button name="action" value="continue">Continue to ${host}</button>`;
  }
  return `<p class="mistake" role="alert">You are ${escape(visitor.operator)}. Calls of ${escape(cleanLine(principal))} will use the account that you sign in with, as if it were their own.</p>
<input type="hidden" name="for" value="${escape(principal)}">
<button name="action" value="continue">Sign in for ${escape(cleanLine(principal))} at ${host}</button>`;
}

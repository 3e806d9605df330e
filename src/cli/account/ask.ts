import type { NeededSignIn } from '../../core/ports/accounts.ts';
import { cleanLine } from '../../lib/clean.ts';
import { hostOf } from '../../lib/host-of.ts';
import { openLink } from '../terminal/open-link.ts';
import type { Screen } from '../terminal/screen.ts';

/** Shows the link and opens it; if that fails, the person can open it. */
export async function askToSignIn(
  screen: Screen,
  { server, issuer, scopes, url }: Pick<NeededSignIn, 'server' | 'issuer' | 'scopes'> & { url: string },
  { browser = true } = {},
): Promise<void> {
  const wants = scopes.length === 0 ? '' : ` It asks for: ${cleanLine(scopes.join(', '))}.`;
  screen.live?.hide();
  screen.note(`Sign in at ${hostOf(issuer)} to use ${cleanLine(server)}.${wants}`);
  screen.note(url);
  const trouble = browser ? await openLink(url) : undefined;
  if (trouble !== undefined) screen.note(`The browser could not be opened (${trouble}): open the link yourself.`);
  screen.live?.show('waiting for you to sign in');
}

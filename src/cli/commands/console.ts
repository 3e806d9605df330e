import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import type { GatewayAccess } from '../gateway/find-gateway.ts';
import { openGateway } from '../gateway/open-gateway.ts';
import { openLink } from '../terminal/open-link.ts';
import { Screen } from '../terminal/screen.ts';

/** Prints the link to the console of a running gateway, and opens it. */
export async function openConsole(line: CommandLine): Promise<number> {
  const [address, extra] = line.operands;
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'`);
  // Before opening the browser, which would show a less helpful error.
  const { api } = await openGateway(line, address);
  const screen = new Screen(line.flags);
  const link = linkTo(api.gateway);
  screen.printOwn(link);
  if (api.gateway.secret.kind === 'token') screen.note('Sign in there with your token.');
  if (line.flags.print) return RESULT;
  const trouble = await openLink(link);
  if (trouble !== undefined) screen.note(`The browser could not be opened (${trouble}): open the link yourself.`);
  return RESULT;
}

/** A token lasts, and so must not stay in the history of a browser; the key ends with the gateway. */
function linkTo({ base, secret }: GatewayAccess): string {
  return secret.kind === 'key' ? `${base}/console#key=${encodeURIComponent(secret.text)}` : `${base}/console`;
}

import { cleanLine } from '../../lib/clean.ts';
import { hostOf } from '../../lib/host-of.ts';
import { openPlace } from '../account/place.ts';
import { validity } from '../account/words.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { table } from '../terminal/layout.ts';
import { Screen } from '../terminal/screen.ts';
import { isOf } from './login.ts';

/** Shows the principal and the accounts with which the gateway uses servers. */
export async function whoami(line: CommandLine): Promise<number> {
  const [extra] = line.operands;
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}'`);
  const place = await openPlace(line);
  try {
    const { principal, operator, where } = place;
    const accounts = await place.list();
    const screen = new Screen(line.flags);
    if (screen.json) {
      screen.printJson({ principal, operator, accounts });
      return RESULT;
    }
    screen.printOwn(
      `You are ${cleanLine(principal)} at ${where}${operator ? ', an operator who sees the data of all users' : ''}.`,
    );
    if (accounts.length === 0)
      screen.printOwn('You are not signed in to any server. Sign in with: meanwhile login <server>');
    else {
      const own = accounts.every((account) => isOf(account, place));
      const rows = accounts.map((account) => [
        cleanLine(account.server),
        ...(own ? [] : [account.principal === '*' ? 'everybody' : cleanLine(account.principal)]),
        hostOf(account.issuer),
        cleanLine(account.scopes.join(' ')),
        validity(account),
      ]);
      screen.printOwn(table([['server', ...(own ? [] : ['principal']), 'signed in at', 'scopes', 'valid'], ...rows]));
    }
    return RESULT;
  } finally {
    await place.close();
  }
}

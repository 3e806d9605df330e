import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from '../../lib/api-items.ts';
import { askToSignIn } from '../account/ask.ts';
import { openPlace, type AccountPlace } from '../account/place.ts';
import { described } from '../account/words.ts';
import { Failure, RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { Stop } from '../stop.ts';
import { Screen } from '../terminal/screen.ts';
import { parseDuration } from '../units.ts';

const LOOK_MS = 500;

/** Signs in to a server, and waits until that is done. */
export async function login(line: CommandLine): Promise<number> {
  const server = onlyServer(line, 'login');
  const { flags } = line;
  const stop = new Stop(
    flags.timeout === undefined ? undefined : { ms: parseDuration(flags.timeout, 'timeout'), text: flags.timeout },
  );
  const screen = new Screen(flags);
  const place = await openPlace(line);
  try {
    const signIn = await stop.unless(place.begin(server));
    const { id, url } = signIn;
    if (url === undefined) throw new Failure('refused', `${place.where} has no sign-in page`);
    await askToSignIn(screen, { ...signIn, url }, { browser: !flags['no-browser'] });
    const account = await signedIn(place, server, id, stop);
    screen.live?.hide();
    if (screen.json) screen.printJson({ server, account });
    else screen.printOwn(`Signed in to ${server}: ${described(account)}.`);
    return RESULT;
  } finally {
    screen.live?.hide();
    await place.close();
    stop.close();
  }
}

/** The new account; throws if the sign-in has ended without one. */
async function signedIn(place: AccountPlace, server: string, id: string, stop: Stop): Promise<Account> {
  while (!(await stop.unless(place.isOver(id)))) {
    await stop.unless(sleep(LOOK_MS));
  }
  const account = (await place.list()).find((each) => each.server === server && isOf(each, place));
  if (account !== undefined) return account;
  throw new Failure('unanswered', `the sign-in to ${server} was not completed in time; try again`);
}

/** The account may be shared by all users. */
export const isOf = ({ principal }: Account, place: Pick<AccountPlace, 'principal'>): boolean =>
  principal === place.principal || principal === '*';

/** Revokes and deletes the tokens for a server. */
export async function logout(line: CommandLine): Promise<number> {
  const server = onlyServer(line, 'logout');
  const place = await openPlace(line);
  try {
    const signedOut = await place.signOut(server);
    const screen = new Screen(line.flags);
    if (screen.json) screen.printJson({ server, signedOut });
    else screen.printOwn(signedOut ? `Signed out of ${server}.` : `You were not signed in to ${server}.`);
    return RESULT;
  } finally {
    await place.close();
  }
}

function onlyServer({ operands: [server, extra] }: CommandLine, command: string): string {
  if (server === undefined) throw new UsageError(`expected a server: meanwhile ${command} <server>`);
  if (extra !== undefined) throw new UsageError(`unexpected argument '${extra}': ${command} takes one server`);
  return server;
}

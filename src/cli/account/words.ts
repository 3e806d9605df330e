import type { Account } from '../../lib/api-items.ts';
import { cleanLine } from '../../lib/clean.ts';
import { isoTime } from '../../lib/clock.ts';
import { hostOf } from '../../lib/host-of.ts';

/** An account in a few words: where, what for, and until when. */
export function described(account: Account): string {
  const scopes = account.scopes.length === 0 ? '' : ` (${cleanLine(account.scopes.join(' '))})`;
  return `${hostOf(account.issuer)}${scopes}, ${validity(account)}`;
}

export function validity({ renewable, expiresAt }: Account): string {
  if (renewable) return 'renewed automatically';
  return expiresAt === undefined ? 'until the server rejects it' : `until ${minute(expiresAt)}`;
}

const minute = (moment: number): string => `${isoTime(moment).slice(0, 16).replace('T', ' ')} UTC`;

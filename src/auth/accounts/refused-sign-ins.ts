/**
 * Sign-ins whose new token the server refused. The gateway does not ask for the same sign-in again, since that would not help. They
 * are stored, so that all gateways know them, even after a restart.
 */

import type { AccountAt } from '../../core/ports/accounts.ts';
import type { Clock } from '../../lib/clock.ts';
import { AuthFailure } from './failure.ts';
import { accountOwnerOf } from './owner.ts';
import { digest, type AccountRecords, type RefusedSignIn, type TokensRecord } from './records.ts';
import { includesAll } from './scopes.ts';

/** Afterwards the gateway asks again: the server may have been repaired. */
const REMEMBERED_MS = 86_400_000;
/** The limit on sign-ins in that time for a server that requires something else after each. */
const MOST_REFUSED = 3;

/** What a sign-in requests. */
export type SignInRequest = Pick<RefusedSignIn, 'issuer' | 'resource' | 'scopes'>;

export class RefusedSignIns {
  readonly #records: AccountRecords;
  readonly #clock: Clock;

  constructor(records: AccountRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** The refused sign-ins that are still remembered, oldest first. */
  async of(account: AccountAt): Promise<readonly RefusedSignIn[]> {
    const kept = await this.#records.get('refused', idOf(account));
    const since = this.#clock.now() - REMEMBERED_MS;
    return kept?.value.refused.filter(({ at }) => at > since) ?? [];
  }

  /** Records that the server refused these tokens right after the sign-in. */
  async note(account: AccountAt, { issuer, resource, asked: scopes }: TokensRecord): Promise<void> {
    const now = this.#clock.now();
    const refused = { ...asItIs(account, { issuer, resource, scopes }), at: now };
    const others = (await this.of(account)).filter((each) => !isSame(each, refused));
    const record = {
      kind: 'refused' as const,
      id: idOf(account),
      principal: accountOwnerOf(account),
      server: account.server,
      keepUntil: now + REMEMBERED_MS,
    };
    await this.#records.put(record, { url: account.config.url, refused: [...others, refused] }, 'any');
  }

  /** Called when a person tries again or the account is no longer used. */
  async forget({ principal, server, url }: { principal?: string; server: string; url?: string }): Promise<void> {
    const filter = { server, ...(principal !== undefined && { principal }) };
    for (const kept of await this.#records.list('refused', filter))
      if (url === undefined || kept.value.url === url) await this.#records.drop(kept);
  }
}

/** Throws if a sign-in would request the same as one whose token the server refused, or if there were too many. */
export function assertNotInVain(account: AccountAt, refused: readonly RefusedSignIn[], asked: SignInRequest): void {
  const wanted = asItIs(account, asked);
  if (refused.length < MOST_REFUSED && !refused.some((each) => isSame(each, wanted))) return;
  throw new AuthFailure(
    `'${account.server}' has refused the token that ${asked.issuer} issued after the last sign-in; ${whatToDo(account, asked)}`,
  );
}

/** The likely causes, and the command to try again. */
export const whatToDo = (
  { server }: Pick<AccountAt, 'server'>,
  { resource, scopes }: Omit<SignInRequest, 'issuer'>,
): string =>
  `another sign-in would not change that. The token was requested for the resource ${resource} and ` +
  `${scopes.length === 0 ? 'no scopes' : `the scopes ${scopes.join(' ')}`}: the server may expect another audience, other scopes, or ` +
  `another authorization server. After correcting that, run \`meanwhile login ${server}\``;

const idOf = (account: AccountAt): string =>
  digest('refused', accountOwnerOf(account), account.server, account.config.url);

type Wanted = Omit<RefusedSignIn, 'at'>;

function asItIs({ config: { auth } }: AccountAt, { issuer, resource, scopes }: SignInRequest): Wanted {
  return { issuer, resource, scopes, clientId: (auth ? auth.clientId : undefined) ?? '' };
}

function isSame(one: Wanted, other: Wanted): boolean {
  const haveSameScopes = includesAll(one.scopes, other.scopes) && includesAll(other.scopes, one.scopes);
  return (
    haveSameScopes && one.issuer === other.issuer && one.resource === other.resource && one.clientId === other.clientId
  );
}

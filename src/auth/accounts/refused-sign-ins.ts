/**
 * Sign-ins that were in vain: the server has refused the token that one of them had just brought. People are not asked for the same again,
 * since that would not change anything. It is stored, so that all gateways know it, also after a restart.
 */

import type { AccountAt } from '../../core/ports.ts';
import type { Clock } from '../../lib/clock.ts';
import { AuthFailure } from './failure.ts';
import { ownerOf } from './owner.ts';
import { digest, type AccountRecords, type RefusedSignIn, type TokensRecord } from './records.ts';
import { includesAll } from './scopes.ts';

/** Afterwards people are asked again: the server may have been repaired. */
const REMEMBERED_MS = 86_400_000;
/** A server that wants something else after each sign-in makes people sign in so often in that time. */
const MOST_REFUSED = 3;

/** What a sign-in asks for. */
export type Asked = Pick<RefusedSignIn, 'issuer' | 'resource' | 'scopes'>;

export class RefusedSignIns {
  readonly #records: AccountRecords;
  readonly #clock: Clock;

  constructor(records: AccountRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Those of the last time, the oldest first. */
  async of(account: AccountAt): Promise<readonly RefusedSignIn[]> {
    const kept = await this.#records.get('refused', idOf(account));
    const since = this.#clock.now() - REMEMBERED_MS;
    return kept?.value.refused.filter(({ at }) => at > since) ?? [];
  }

  /** The server has refused these tokens, which a sign-in has just brought. */
  async note(account: AccountAt, { issuer, resource, asked: scopes }: TokensRecord): Promise<void> {
    const now = this.#clock.now();
    const refused = { ...asItIs(account, { issuer, resource, scopes }), at: now };
    const others = (await this.of(account)).filter((each) => !isSame(each, refused));
    const record = {
      kind: 'refused' as const,
      id: idOf(account),
      principal: ownerOf(account),
      server: account.server,
      keepUntil: now + REMEMBERED_MS,
    };
    await this.#records.put(record, { url: account.config.url, refused: [...others, refused] }, 'any');
  }

  /** Somebody wants to try again, or does not use the account any more. */
  async forget({ principal, server, url }: { principal?: string; server: string; url?: string }): Promise<void> {
    const filter = { server, ...(principal !== undefined && { principal }) };
    for (const kept of await this.#records.list('refused', filter))
      if (url === undefined || kept.value.url === url) await this.#records.drop(kept);
  }
}

/** Throws if a sign-in that asks for this would only bring what the server has refused. */
export function assertNotInVain(account: AccountAt, refused: readonly RefusedSignIn[], asked: Asked): void {
  const wanted = asItIs(account, asked);
  if (refused.length < MOST_REFUSED && !refused.some((each) => isSame(each, wanted))) return;
  throw new AuthFailure(
    `'${account.server}' has refused the token that ${asked.issuer} issued after the last sign-in; ${whatToDo(account, asked)}`,
  );
}

/** The likely causes, and the command that helps. */
export const whatToDo = ({ server }: Pick<AccountAt, 'server'>, { resource, scopes }: Omit<Asked, 'issuer'>): string =>
  `another sign-in would not change that. The token was requested for the resource ${resource} and ` +
  `${scopes.length === 0 ? 'no scopes' : `the scopes ${scopes.join(' ')}`}: the server may expect another audience, other scopes, or ` +
  `another authorization server. After correcting that, run \`meanwhile login ${server}\``;

const idOf = (account: AccountAt): string => digest('refused', ownerOf(account), account.server, account.config.url);

type Wanted = Omit<RefusedSignIn, 'at'>;

function asItIs({ config: { auth } }: AccountAt, { issuer, resource, scopes }: Asked): Wanted {
  return { issuer, resource, scopes, clientId: (auth ? auth.clientId : undefined) ?? '' };
}

function isSame(one: Wanted, other: Wanted): boolean {
  const haveSameScopes = includesAll(one.scopes, other.scopes) && includesAll(other.scopes, one.scopes);
  return (
    haveSameScopes && one.issuer === other.issuer && one.resource === other.resource && one.clientId === other.clientId
  );
}

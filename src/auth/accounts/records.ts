/** What is stored of accounts. All of it is encrypted. */

import { createHash } from 'node:crypto';
import type { AccountRecord, AccountStore, StoredAccountRecord } from '../../core/ports.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import type { AuthorizationServer } from './discovery.ts';
import type { Sealer } from './sealed.ts';
import type { OAuthClient } from './token-endpoint.ts';

/** The gateway as it registered itself, or the authorization server that credentials of the config are for. */
export interface ClientRecord {
  issuer: string;
  client?: OAuthClient;
  /** The scopes that the gateway registered for. */
  scopes?: readonly string[];
}

/** An account, as far as its tokens are concerned. */
interface OfAccount {
  /** The principal; `*` if all share the account. */
  owner: string;
  server: string;
  /** Where the server is. Tokens never go anywhere else. */
  url: string;
  /** What the tokens are for. */
  resource: string;
  issuer: string;
  client: OAuthClient;
  /** When people were sent to grant more, lately. */
  stepUps: readonly number[];
}

export interface TokensRecord extends OfAccount {
  accessToken: string;
  refreshToken?: string;
  expiresAt?: number;
  /** Those that were granted, and those that were asked for. */
  scopes: readonly string[];
  asked: readonly string[];
  /** Where the person came back to; absent in old records. */
  redirectUri?: string;
  obtainedAt: number;
  obtainedBy: 'sign_in' | 'refresh';
}

export interface SignInRecord extends OfAccount {
  /** All that it takes to begin; the record itself has another id. */
  id: string;
  /** Who gets the question. */
  principal: string;
  authorizationServer: AuthorizationServer;
  redirectUri: string;
  scopes: readonly string[];
  expiresAt: number;
  /** The person was sent to the authorization server, and has not come back yet. */
  pending?: { state: string; verifier: string };
}

/** A sign-in whose token the server refused at once. */
export interface RefusedSignIn {
  issuer: string;
  resource: string;
  /** Those that were asked for. */
  scopes: readonly string[];
  /** The client in the config; empty if there was none. */
  clientId: string;
  at: number;
}

export interface RefusedRecord {
  /** Where the server is. */
  url: string;
  refused: readonly RefusedSignIn[];
}

interface Records {
  client: ClientRecord;
  tokens: TokensRecord;
  sign_in: SignInRecord;
  refused: RefusedRecord;
}

type Kind = keyof Records;

/** A record, and what it takes to change it. */
export interface Kept<K extends Kind> {
  value: Records[K];
  record: StoredAccountRecord & { kind: K };
}

export const digest = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

const placeOf = ({ kind, id }: Pick<AccountRecord, 'kind' | 'id'>): string => `${kind}/${id}`;

export interface AccountRecordsParts {
  store: AccountStore;
  sealer: () => Promise<Sealer>;
  clock: Clock;
  log: Log;
}

export class AccountRecords {
  readonly #parts: AccountRecordsParts;
  /** Those that were reported already. */
  readonly #unreadable = new Set<string>();

  constructor(parts: AccountRecordsParts) {
    this.#parts = parts;
  }

  /** Throws if there is no key to encrypt with. */
  async assertWritable(): Promise<void> {
    await this.#parts.sealer();
  }

  async get<K extends Kind>(kind: K, id: string): Promise<Kept<K> | undefined> {
    const { store, clock } = this.#parts;
    const record = await store.get(kind, id, clock.now());
    return record && this.#open<K>(record, await this.#parts.sealer());
  }

  async list<K extends Kind>(kind: K, filter: { principal?: string; server?: string }): Promise<Kept<K>[]> {
    const { store, clock } = this.#parts;
    const records = await store.list(kind, filter, clock.now());
    if (records.length === 0) return [];
    const sealer = await this.#parts.sealer();
    return records.flatMap((record) => this.#open<K>(record, sealer) ?? []);
  }

  /** Deletes those that no key opens, so that nobody can tell what is in them. */
  async dropUnreadable(kind: Kind, filter: { principal?: string; server: string }): Promise<void> {
    const { store, clock } = this.#parts;
    const records = await store.list(kind, filter, clock.now());
    if (records.length === 0) return;
    const sealer = await this.#parts.sealer();
    for (const record of records) if (this.#open(record, sealer) === undefined) await store.drop(record);
  }

  async put<K extends Kind>(
    record: Omit<AccountRecord, 'data' | 'kind' | 'createdAt'> & { kind: K },
    value: Records[K],
    expected: Kept<K> | 'none' | 'any',
  ): Promise<Kept<K> | undefined> {
    const { store, clock } = this.#parts;
    const sealer = await this.#parts.sealer();
    const data = sealer.seal(JSON.stringify(value), placeOf(record));
    const now = clock.now();
    const whole = { ...record, createdAt: now, data };
    const version = await store.put(whole, typeof expected === 'object' ? expected.record : expected, now);
    return version === undefined ? undefined : { value, record: { ...whole, version } };
  }

  /** Only if nobody has changed it meanwhile; after a claim, also only if nobody else has claimed it since. */
  async drop({ record }: Kept<Kind>, by?: string): Promise<boolean> {
    return this.#parts.store.drop(record, by);
  }

  async claim({ record }: Kept<Kind>, by: string, ms: number): Promise<boolean> {
    return this.#parts.store.claim(record, { by, now: this.#parts.clock.now(), ms });
  }

  async release({ record }: Kept<Kind>, by: string): Promise<void> {
    await this.#parts.store.release(record, by);
  }

  async trim(most: { perPrincipal: number; total: number }): Promise<void> {
    await this.#parts.store.trim(this.#parts.clock.now(), most);
  }

  /** One that cannot be opened counts as absent: the person signs in again, and it is overwritten. */
  #open<K extends Kind>(record: StoredAccountRecord, sealer: Sealer): Kept<K> | undefined {
    const text = sealer.open(record.data, placeOf(record));
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    if (isObject(value)) return { value, record } as unknown as Kept<K>;
    const place = placeOf(record);
    if (!this.#unreadable.has(place)) {
      const { kind, server } = record;
      const fix = 'it was encrypted with another key: add that key after the first one, or sign in again';
      this.#parts.log.error('account_unreadable', { kind, server, fix });
    }
    this.#unreadable.add(place);
    return undefined;
  }
}

/** The stored records of accounts. Their contents are encrypted. */

import { createHash } from 'node:crypto';
import type { AccountRecord, AccountStore, StoredAccountRecord } from '../../core/ports/account-store.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import type { AuthorizationServer } from './discovery.ts';
import type { Sealer } from './sealed.ts';
import type { OAuthClient } from './token-endpoint.ts';

/** A registration of the gateway, or the authorization server that credentials of the config are bound to. */
export interface OAuthClientRecord {
  issuer: string;
  client?: OAuthClient;
  /** The scopes that the gateway registered for. */
  scopes?: readonly string[];
}

interface OfAccount {
  /** The principal; `*` for a shared account. */
  owner: string;
  server: string;
  /** The URL of the server. Tokens are sent only there. */
  url: string;
  /** The resource that the tokens are issued for. */
  resource: string;
  issuer: string;
  client: OAuthClient;
  /** The times of recent requests for more scopes. */
  stepUps: readonly number[];
}

export interface TokensRecord extends OfAccount {
  accessToken: string;
  refreshToken?: string;
  expiresAt?: number;
  /** The granted scopes; `asked` has the requested ones. */
  scopes: readonly string[];
  asked: readonly string[];
  /** Absent in old records. */
  redirectUri?: string;
  obtainedAt: number;
  obtainedBy: 'sign_in' | 'refresh';
}

export interface SignInRecord extends OfAccount {
  /** Allows its holder to start the sign-in; the record is stored under another id. */
  id: string;
  /** The principal that gets the question. */
  principal: string;
  authorizationServer: AuthorizationServer;
  redirectUri: string;
  scopes: readonly string[];
  expiresAt: number;
  /** Set while the person is at the authorization server. */
  pending?: { state: string; verifier: string };
}

/** A sign-in whose new token the server refused. */
export interface RefusedSignIn {
  issuer: string;
  resource: string;
  /** The requested scopes. */
  scopes: readonly string[];
  /** The client in the config; empty if there was none. */
  clientId: string;
  at: number;
}

export interface RefusedRecord {
  /** The URL of the server. */
  url: string;
  refused: readonly RefusedSignIn[];
}

interface Records {
  client: OAuthClientRecord;
  tokens: TokensRecord;
  sign_in: SignInRecord;
  refused: RefusedRecord;
}

type Kind = keyof Records;

/** A decrypted value with its stored record, which is needed to change it. */
export interface DecryptedRecord<K extends Kind> {
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
  /** Records that were already reported. */
  readonly #unreadable = new Set<string>();

  constructor(parts: AccountRecordsParts) {
    this.#parts = parts;
  }

  /** Throws if there is no key to encrypt with. */
  async assertWritable(): Promise<void> {
    await this.#parts.sealer();
  }

  async get<K extends Kind>(kind: K, id: string): Promise<DecryptedRecord<K> | undefined> {
    const { store, clock } = this.#parts;
    const record = await store.get(kind, id, clock.now());
    return record && this.#open<K>(record, await this.#parts.sealer());
  }

  async list<K extends Kind>(kind: K, filter: { principal?: string; server?: string }): Promise<DecryptedRecord<K>[]> {
    const { store, clock } = this.#parts;
    const records = await store.list(kind, filter, clock.now());
    if (records.length === 0) return [];
    const sealer = await this.#parts.sealer();
    return records.flatMap((record) => this.#open<K>(record, sealer) ?? []);
  }

  /** Deletes the records that no key decrypts, since their server URL is unknown. */
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
    expected: DecryptedRecord<K> | 'none' | 'any',
  ): Promise<DecryptedRecord<K> | undefined> {
    const { store, clock } = this.#parts;
    const sealer = await this.#parts.sealer();
    const data = sealer.seal(JSON.stringify(value), placeOf(record));
    const now = clock.now();
    const whole = { ...record, createdAt: now, data };
    const version = await store.put(whole, typeof expected === 'object' ? expected.record : expected, now);
    return version === undefined ? undefined : { value, record: { ...whole, version } };
  }

  /** Deletes a record if it has not changed; with `by`, also only if that claim is still held. */
  async drop({ record }: DecryptedRecord<Kind>, by?: string): Promise<boolean> {
    return this.#parts.store.drop(record, by);
  }

  async claim({ record }: DecryptedRecord<Kind>, by: string, ms: number): Promise<boolean> {
    return this.#parts.store.claim(record, { by, now: this.#parts.clock.now(), ms });
  }

  async release({ record }: DecryptedRecord<Kind>, by: string): Promise<void> {
    await this.#parts.store.release(record, by);
  }

  async trim(most: { perPrincipal: number; total: number }): Promise<void> {
    await this.#parts.store.trim(this.#parts.clock.now(), most);
  }

  /** Treats a record that cannot be decrypted as absent: the person signs in again, and overwrites it. */
  #open<K extends Kind>(record: StoredAccountRecord, sealer: Sealer): DecryptedRecord<K> | undefined {
    const text = sealer.open(record.data, placeOf(record));
    const value: unknown = text === undefined ? undefined : JSON.parse(text);
    if (isObject(value)) return { value, record } as unknown as DecryptedRecord<K>;
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

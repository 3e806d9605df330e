/** Accounts on servers in the database. A gateway that changes tokens notifies the others. */

import { randomUUID } from 'node:crypto';
import type {
  AccountRecord,
  AccountRecordKind,
  AccountStore,
  ChangedTokens,
  StoredAccountRecord,
  TokensChange,
  TokensWatcher,
} from '../../core/ports/account-store.ts';
import { isObject } from '../../lib/values.ts';
import { accountRecord, accountsStatements, accountValues } from '../accounts/sql.ts';
import { ACCOUNTS_CHANNEL } from './channels.ts';
import type { Database } from './database.ts';
import type { Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { keyOf } from './key.ts';
import { SCHEMA } from './schema.ts';

const SQL = accountsStatements({
  schema: `${SCHEMA}.`,
  parameter: (place) => `$${place}`,
  now: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
  noLimit: '',
});

const NOTIFY = `SELECT pg_notify('${ACCOUNTS_CHANNEL}', $1)`;

/** PostgreSQL rejects longer notices. */
const MAX_NOTICE_BYTES = 7900;

interface Notice {
  gateway: string;
  account?: ChangedTokens;
}

export class PostgresAccounts implements AccountStore {
  readonly #db: Database;
  readonly #gateway: string;
  readonly #watchers = new Set<TokensWatcher>();

  constructor(db: Database, gateway: string) {
    this.#db = db;
    this.#gateway = gateway;
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#run(SQL.any)).length === 0;
  }

  async get(kind: AccountRecordKind, id: string, now: number): Promise<StoredAccountRecord | undefined> {
    return (await this.#run(SQL.get, kind, id, now)).map(accountRecord)[0];
  }

  async list(
    kind: AccountRecordKind,
    { principal = '', server = '' }: { principal?: string; server?: string },
    now: number,
  ): Promise<StoredAccountRecord[]> {
    return (await this.#run(SQL.list, kind, now, keyOf(principal), keyOf(server))).map(accountRecord);
  }

  async put(
    record: AccountRecord,
    expected: { version: string } | 'none' | 'any',
    now: number,
  ): Promise<string | undefined> {
    const version = randomUUID();
    const { principal, server } = record;
    const values = accountValues({ ...record, principal: keyOf(principal), server: keyOf(server) }, version);
    const written = await this.#write(expected, values, now);
    if (!written) return undefined;
    await this.#tell(record, typeof expected === 'object' ? 'renewed' : 'signed_in');
    return version;
  }

  async #write(expected: { version: string } | 'none' | 'any', values: SqlValue[], now: number): Promise<boolean> {
    if (expected === 'any') return this.#changed(SQL.replace, ...values);
    if (expected === 'none') return this.#changed(SQL.insert, ...values, now);
    return this.#changed(SQL.update, ...values, expected.version);
  }

  async drop(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'principal' | 'server' | 'version'>,
    by = '',
  ): Promise<boolean> {
    const { kind, id, version } = record;
    const dropped = await this.#changed(SQL.drop, kind, id, version, by);
    if (dropped) await this.#tell(record, 'signed_out');
    return dropped;
  }

  async claim(
    { kind, id, version }: Pick<StoredAccountRecord, 'kind' | 'id' | 'version'>,
    { by, ms }: { by: string; ms: number },
  ): Promise<boolean> {
    return this.#changed(SQL.claim, kind, id, version, by, ms);
  }

  async release({ kind, id }: Pick<AccountRecord, 'kind' | 'id'>, by: string): Promise<void> {
    await this.#run(SQL.release, kind, id, by);
  }

  async trim(now: number, { perPrincipal, total }: { perPrincipal: number; total: number }): Promise<void> {
    await this.#run(SQL.trimOld, now);
    await this.#run(SQL.trimPerPrincipal, perPrincipal);
    await this.#run(SQL.trimTotal, total);
  }

  watch(watcher: TokensWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Handles a notice that a gateway has changed tokens. Without a notice, any tokens may have changed. */
  told(notice: string | undefined): void {
    const { gateway, account } = noticeIn(notice);
    if (gateway === this.#gateway) return;
    for (const watcher of this.#watchers) watcher(account);
  }

  async #tell(
    { kind, principal, server }: Pick<AccountRecord, 'kind' | 'principal' | 'server'>,
    what: TokensChange,
  ): Promise<void> {
    if (kind !== 'tokens') return;
    const whole = JSON.stringify({ gateway: this.#gateway, account: { principal, server, what } } satisfies Notice);
    const fits = Buffer.byteLength(whole) <= MAX_NOTICE_BYTES;
    await this.#run(NOTIFY, fits ? whole : JSON.stringify({ gateway: this.#gateway } satisfies Notice));
  }

  async #changed(sql: string, ...values: SqlValue[]): Promise<boolean> {
    return (await this.#run(sql, ...values)).length > 0;
  }

  async #run(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return this.#db.read(sql, values);
  }
}

function noticeIn(text: string | undefined): Partial<Notice> {
  try {
    const notice: unknown = JSON.parse(text ?? '{}');
    return isObject(notice) ? notice : {};
  } catch {
    return {};
  }
}

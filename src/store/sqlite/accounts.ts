/** Accounts on servers in the store file. */

import { randomUUID } from 'node:crypto';
import type {
  AccountRecord,
  AccountRecordKind,
  AccountStore,
  StoredAccountRecord,
} from '../../core/ports/account-store.ts';
import { accountRecord, accountsStatements, accountValues } from '../accounts/sql.ts';
import { CheckedStatements } from './checked-statements.ts';
import type { PreparedStatements } from './statements.ts';

const SQL = accountsStatements({ schema: '', parameter: (place) => `?${place}`, noLimit: 'LIMIT -1' });

export class SqliteAccounts implements AccountStore {
  readonly #statements: CheckedStatements;

  constructor(prepared: PreparedStatements, path: string) {
    this.#statements = new CheckedStatements(prepared, path);
  }

  async isEmpty(): Promise<boolean> {
    return this.#statements.rows(SQL.any).length === 0;
  }

  async get(kind: AccountRecordKind, id: string, now: number): Promise<StoredAccountRecord | undefined> {
    return this.#statements.rows(SQL.get, kind, id, now).map(accountRecord)[0];
  }

  async list(
    kind: AccountRecordKind,
    { principal = '', server = '' }: { principal?: string; server?: string },
    now: number,
  ): Promise<StoredAccountRecord[]> {
    return this.#statements.rows(SQL.list, kind, now, principal, server).map(accountRecord);
  }

  async put(
    record: AccountRecord,
    expected: { version: string } | 'none' | 'any',
    now: number,
  ): Promise<string | undefined> {
    const version = randomUUID();
    const values = accountValues(record, version);
    if (expected === 'any') return this.#changed(SQL.replace, ...values) ? version : undefined;
    if (expected === 'none') return this.#changed(SQL.insert, ...values, now) ? version : undefined;
    return this.#changed(SQL.update, ...values, expected.version) ? version : undefined;
  }

  async drop({ kind, id, version }: Pick<StoredAccountRecord, 'kind' | 'id' | 'version'>, by = ''): Promise<boolean> {
    return this.#changed(SQL.drop, kind, id, version, by);
  }

  async claim(
    { kind, id, version }: Pick<StoredAccountRecord, 'kind' | 'id' | 'version'>,
    { by, now, ms }: { by: string; now: number; ms: number },
  ): Promise<boolean> {
    return this.#changed(SQL.claim, kind, id, version, by, ms, now);
  }

  async release({ kind, id }: Pick<AccountRecord, 'kind' | 'id'>, by: string): Promise<void> {
    this.#statements.run(SQL.release, kind, id, by);
  }

  async trim(now: number, { perPrincipal, total }: { perPrincipal: number; total: number }): Promise<void> {
    this.#statements.run(SQL.trimOld, now);
    this.#statements.run(SQL.trimPerPrincipal, perPrincipal);
    this.#statements.run(SQL.trimTotal, total);
  }

  /** No other gateway uses the file. */
  watch(): () => void {
    return () => {};
  }

  #changed(sql: string, ...values: (string | number | null)[]): boolean {
    return this.#statements.rows(sql, ...values).length > 0;
  }
}

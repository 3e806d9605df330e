/** Accounts at servers in memory, which several gateways of one process share. */

import { randomUUID } from 'node:crypto';
import type {
  AccountRecord,
  AccountRecordKind,
  AccountStore,
  StoredAccountRecord,
  TokensChange,
  TokensWatcher,
} from '../../src/core/ports/account-store.ts';

interface Row extends StoredAccountRecord {
  claim?: { by: string; until: number };
}

export class AccountRows {
  readonly rows = new Map<string, Row>();
  readonly watchers = new Map<TokensWatcher, MemoryAccounts>();
}

const keyOf = ({ kind, id }: Pick<AccountRecord, 'kind' | 'id'>): string => `${kind} ${id}`;

export class MemoryAccounts implements AccountStore {
  readonly #data: AccountRows;

  constructor(data: AccountRows) {
    this.#data = data;
  }

  async isEmpty(): Promise<boolean> {
    return this.#data.rows.size === 0;
  }

  async get(kind: AccountRecordKind, id: string, now: number): Promise<StoredAccountRecord | undefined> {
    const row = this.#data.rows.get(keyOf({ kind, id }));
    return row && isThere(row, now) ? shown(row) : undefined;
  }

  async list(
    kind: AccountRecordKind,
    { principal, server }: { principal?: string; server?: string },
    now: number,
  ): Promise<StoredAccountRecord[]> {
    return [...this.#data.rows.values()]
      .filter((row) => row.kind === kind && isThere(row, now))
      .filter((row) => (principal ?? row.principal) === row.principal && (server ?? row.server) === row.server)
      .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      .map(shown);
  }

  async put(
    record: AccountRecord,
    expected: { version: string } | 'none' | 'any',
    now: number,
  ): Promise<string | undefined> {
    const row = this.#data.rows.get(keyOf(record));
    if (expected === 'none' && row !== undefined && isThere(row, now)) return undefined;
    if (typeof expected === 'object' && row?.version !== expected.version) return undefined;
    const version = randomUUID();
    this.#data.rows.set(keyOf(record), { ...record, version });
    this.#tell(record, typeof expected === 'object' ? 'renewed' : 'signed_in');
    return version;
  }

  async drop(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'principal' | 'server' | 'version'>,
    by?: string,
  ): Promise<boolean> {
    const row = this.#data.rows.get(keyOf(record));
    if (row?.version !== record.version || (by !== undefined && row.claim?.by !== by)) return false;
    this.#data.rows.delete(keyOf(record));
    this.#tell(record, 'signed_out');
    return true;
  }

  async claim(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'version'>,
    { by, now, ms }: { by: string; now: number; ms: number },
  ): Promise<boolean> {
    const row = this.#data.rows.get(keyOf(record));
    if (row === undefined || row.version !== record.version) return false;
    if (row.claim !== undefined && row.claim.by !== by && row.claim.until > now) return false;
    row.claim = { by, until: now + ms };
    return true;
  }

  async release(record: Pick<AccountRecord, 'kind' | 'id'>, by: string): Promise<void> {
    const row = this.#data.rows.get(keyOf(record));
    if (row?.claim?.by === by) delete row.claim;
  }

  async trim(now: number, { perPrincipal, total }: { perPrincipal: number; total: number }): Promise<void> {
    const { rows } = this.#data;
    for (const [key, row] of rows) if (!isThere(row, now)) rows.delete(key);
    const newest = [...rows.values()]
      .filter(({ kind }) => kind === 'sign_in')
      .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
    const counts = new Map<string, number>();
    const kept = newest.filter(({ principal }) => {
      counts.set(principal, (counts.get(principal) ?? 0) + 1);
      return (counts.get(principal) ?? 0) <= perPrincipal;
    });
    const ids = new Set(kept.slice(0, total).map(({ id }) => id));
    for (const row of newest) if (!ids.has(row.id)) rows.delete(keyOf(row));
  }

  watch(watcher: TokensWatcher): () => void {
    this.#data.watchers.set(watcher, this);
    return () => this.#data.watchers.delete(watcher);
  }

  #tell({ kind, principal, server }: Pick<AccountRecord, 'kind' | 'principal' | 'server'>, what: TokensChange): void {
    if (kind !== 'tokens') return;
    for (const [watcher, gateway] of this.#data.watchers) if (gateway !== this) watcher({ principal, server, what });
  }
}

const isThere = ({ keepUntil }: AccountRecord, now: number): boolean => keepUntil === undefined || keepUntil > now;

function shown({ claim: _claim, ...record }: Row): StoredAccountRecord {
  return record;
}

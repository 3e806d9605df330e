import { existsSync } from 'node:fs';
import type Libsql from 'libsql';
import { StoreError } from '../store-error.ts';
import { createFile, failedWith, unusable } from './database.ts';
import { loadLibsql } from './libsql.ts';

export interface StoreLock {
  release: () => void;
}

/** A process that is stopping may need a moment to release the lock. */
const PATIENCE_MS = 2000;

/**
 * Prevents a second gateway from using a store: their in-memory states would diverge. The lock is a lock of
 * SQLite on a small file beside the store, which the system releases however the process ends. Reading the store stays
 * possible.
 */
export async function lockStore(path: string): Promise<StoreLock> {
  const Database = loadLibsql();
  const file = `${path}.lock`;
  await createFile(file, path);
  const lock = new Database(file);
  try {
    lock.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    const pid = signatureOf(new Database(path));
    const who = pid === undefined ? '' : ` (process ${pid})`;
    throw new StoreError(
      'STORE_IN_USE',
      `${path}: another meanwhile${who} is using this store; stop it, or use another \`store\``,
    );
  }
  return { release: () => lock.close() };
}

/** Records the process that has the lock, for the error message of the next process. */
export function writeOwner(db: Libsql.Database): void {
  db.prepare('INSERT OR REPLACE INTO owner (id, pid) VALUES (1, ?)').run(process.pid);
}

/** The process that has the lock, if any. Does not take the lock. */
export async function userOf(path: string): Promise<{ pid?: number } | undefined> {
  const file = `${path}.lock`;
  if (!existsSync(file)) return undefined;
  const Database = loadLibsql();
  const lock = new Database(file);
  try {
    lock.exec('PRAGMA query_only = ON; PRAGMA busy_timeout = 0');
    lock.prepare('SELECT name FROM sqlite_schema').all();
    return undefined;
  } catch (error) {
    if (!isBusy(error)) throw unusable(path, error);
    const pid = signatureOf(new Database(path));
    return pid === undefined ? {} : { pid };
  } finally {
    lock.close();
  }
}

function signatureOf(db: Libsql.Database): number | undefined {
  try {
    const row = db.prepare('SELECT pid FROM owner').get() as { pid: number } | undefined;
    return row?.pid;
  } catch {
    // A store of an older version has no such table: then the process is unknown.
    return undefined;
  } finally {
    db.close();
  }
}

export const isBusy = (error: unknown): boolean => failedWith(error, 'SQLITE_BUSY');

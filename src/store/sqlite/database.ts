/** Opens the database file: creates it if it is missing, and refuses it untouched if it is not a store. */

import { chmod, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type Libsql from 'libsql';
import { codeOf, messageOf } from '../../lib/log.ts';
import { isPostgresUrl, withoutSecrets } from '../../lib/postgres-url.ts';
import { StoreError } from '../store-error.ts';
import { loadLibsql } from './libsql.ts';
import { APPLICATION_ID, assertNotNewer, migrate } from './migrations.ts';

const BUSY_TIMEOUT_MS = 5000;

/** The smallest page of SQLite: no database file is shorter. */
const SMALLEST_FILE = 512;

export async function openDatabase(path: string): Promise<Libsql.Database> {
  const inMemory = path === ':memory:';
  if (!inMemory) await createFile(path);
  const isNew = inMemory || !(await assertOurs(path));
  const db = connect(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    if (!isNew) assertApplicationId(db, path);
    migrate(db, path);
    assertWhole(db, path);
    // Only after the first migration, so that the application id is in the file itself and never only in its log.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    if (!inMemory) await chmod(path, 0o600);
    return db;
  } catch (error) {
    db.close();
    throw toStoreError(path, error);
  }
}

/** Opens an existing store read-only: nothing is created, migrated or changed. */
export async function openToLook(path: string): Promise<Libsql.Database> {
  if (path === ':memory:' || (await sizeOf(path)) === 0) {
    const what = path === ':memory:' ? 'this store is only in memory' : 'there is no such store';
    throw new StoreError(
      'STORE_MISSING',
      `${path}: ${what}; set its path with --store, or the config file with --config`,
    );
  }
  await assertOurs(path);
  const db = connect(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA query_only = ON`);
    assertApplicationId(db, path);
    assertNotNewer(db, path);
    return db;
  } catch (error) {
    db.close();
    throw toStoreError(path, error);
  }
}

/** Creates the folder and the file, unless they exist. SQLite would create a file that others can read for a moment. */
export async function createFile(file: string, store = file): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await (await open(file, 'a+', 0o600)).close();
  } catch (error) {
    throw unusable(store, error);
  }
}

/** Resolves links: the lock and the log beside the file have the name of the file itself. */
export async function fileOf(path: string): Promise<string> {
  if (isPostgresUrl(path)) throw notAFile(path);
  if (path === ':memory:') return path;
  try {
    return await realpath(path);
  } catch {
    // It does not exist yet; a link may point to its future place.
    const target = await readlink(path).catch(() => undefined);
    return target === undefined ? path : fileOf(resolve(dirname(path), target));
  }
}

/** The size of a file; 0 if it does not exist. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return 0;
    throw unusable(path, error);
  }
}

/**
 * Refuses a file that is not a store, and leaves it untouched; false for an empty file. The file is read without its log:
 * opening the database of another program normally could already write to it.
 */
async function assertOurs(path: string): Promise<boolean> {
  const size = await sizeOf(path);
  const hasLog = (await sizeOf(`${path}-wal`)) > 0;
  // SQLite would delete the log of an empty file.
  if (size < SMALLEST_FILE && hasLog) throw damaged(path, 'part of the file is missing');
  if (size === 0) return false;
  if (size < SMALLEST_FILE) throw notOurs(path, 'the file is not a database');
  const db = connect(`${pathToFileURL(path).href}?immutable=1`, path);
  try {
    assertApplicationId(db, path);
  } catch (error) {
    if (isNotADatabase(error)) throw notOurs(path, 'the file is not a database');
    // Missing pages may be in the log, which is read when the store is opened.
    if (!isDamage(error) || !hasLog) throw toStoreError(path, error);
  } finally {
    db.close();
  }
  return true;
}

function assertApplicationId(db: Libsql.Database, path: string): void {
  const [row] = db.pragma('application_id') as { application_id: number }[];
  if (row?.application_id !== APPLICATION_ID) throw notOurs(path, 'the file is the database of another program');
}

/** Checks the file only after a run that did not shut down: the check reads the whole file. */
function assertWhole(db: Libsql.Database, path: string): void {
  if (db.prepare('SELECT pid FROM owner').get() === undefined) return;
  const [row] = db.pragma('quick_check(1)') as { quick_check: string }[];
  if (row?.quick_check !== 'ok') throw damaged(path, row?.quick_check ?? 'the check of the file failed');
}

/** `path` is for messages where the database is opened by another name. */
function connect(name: string, path = name): Libsql.Database {
  try {
    const Database = loadLibsql();
    return new Database(name);
  } catch (error) {
    throw unusable(path, error);
  }
}

/** Whether SQLite failed with this code, or with one that begins with it. */
export function failedWith(error: unknown, code: string): boolean {
  return String(codeOf(error)).startsWith(code);
}

const isNotADatabase = (error: unknown): boolean => failedWith(error, 'SQLITE_NOTADB');

function isDamage(error: unknown): boolean {
  const cause = error instanceof StoreError ? error.cause : error;
  return failedWith(cause, 'SQLITE_CORRUPT') || isNotADatabase(cause);
}

export function toStoreError(path: string, error: unknown): StoreError {
  if (isDamage(error)) return damaged(path, error);
  return error instanceof StoreError ? error : unusable(path, error);
}

function damaged(path: string, error: unknown): StoreError {
  return new StoreError('STORE_DAMAGED', `${path}: the store is damaged: ${messageOf(error)}`, { cause: error });
}

function notOurs(path: string, what: string): StoreError {
  return new StoreError('STORE_NOT_OURS', `${path}: ${what}; nothing was changed; use another path for the store`);
}

function notAFile(url: string): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${withoutSecrets(url)}: only the gateway itself supports PostgreSQL so far; use a file as the store`,
  );
}

export function unusable(path: string, error: unknown): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${path}: the store cannot be opened: ${messageOf(error)}; check that the folder exists and is writable, ` +
      'or use another path for the store',
    { cause: error },
  );
}

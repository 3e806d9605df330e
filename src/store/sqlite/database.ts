/** Opens the database file: makes it if it is missing, refuses it untouched if it is not a store of ours. */

import { chmod, mkdir, open, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type Libsql from 'libsql';
import { messageOf } from '../../lib/log.ts';
import { StoreError } from '../store-error.ts';
import { APPLICATION_ID, assertNotNewer, migrate } from './migrations.ts';

const BUSY_TIMEOUT_MS = 5000;

/** The SQLite file format: the first bytes of the file, and where the application id is in its header. */
const MAGIC = 'SQLite format 3\0';
const APPLICATION_ID_OFFSET = 68;
const HEADER_BYTES = 100;
const PAGE_SIZE_OFFSET = 16;
const CHANGES_OFFSET = 24;
const PAGE_COUNT_OFFSET = 28;
const COUNTED_AT_OFFSET = 92;

export async function openDatabase(path: string): Promise<Libsql.Database> {
  const inMemory = path === ':memory:';
  if (!inMemory) await prepareFile(path);
  const db = await connect(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    migrate(db, path);
    assertWhole(db);
    // Only after the first migration, so that the application id is in the file itself and never only in its log.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    if (!inMemory) await chmod(path, 0o600);
    return db;
  } catch (error) {
    db.close();
    throw toStoreError(path, error);
  }
}

/** Opens a store that is there, to look into it: nothing is made, brought up to date or changed. */
export async function openToLook(path: string): Promise<Libsql.Database> {
  await assertThere(path);
  const file = await readHeader(path, 'r').catch((error: unknown) => {
    throw unusable(path, error);
  });
  assertOurs(path, file);
  const db = await connect(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA query_only = ON`);
    assertNotNewer(db, path);
    return db;
  } catch (error) {
    db.close();
    throw toStoreError(path, error);
  }
}

async function assertThere(path: string): Promise<void> {
  if (path !== ':memory:' && (await sizeOf(path)) > 0) return;
  const what = path === ':memory:' ? 'this store is in memory alone' : 'there is no such store';
  throw new StoreError(
    'STORE_MISSING',
    `${path}: ${what}; give the path of one with --store, or the config file with --config`,
  );
}

/** Resolves links: the lock and the log beside the file have the name of the file itself. */
export async function fileOf(path: string): Promise<string> {
  if (path === ':memory:') return path;
  try {
    return await realpath(path);
  } catch {
    // Not there yet; a link may say where it will be.
    const target = await readlink(path).catch(() => undefined);
    return target === undefined ? path : fileOf(resolve(dirname(path), target));
  }
}

/** The size of a file; 0 if it does not exist. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 0;
    throw unusable(path, error);
  }
}

export function toStoreError(path: string, error: unknown): StoreError {
  if (isDamage(error)) return damaged(path, error);
  return error instanceof StoreError ? error : unusable(path, error);
}

/** Checks the file only after a run that did not shut down: the check reads the whole file. */
function assertWhole(db: Libsql.Database): void {
  if (db.prepare('SELECT pid FROM owner').get() === undefined) return;
  const [row] = db.pragma('quick_check(1)') as { quick_check: string }[];
  if (row?.quick_check !== 'ok') throw new Damage(row?.quick_check ?? 'the check of the file failed');
}

class Damage extends Error {}

function isDamage(error: unknown): boolean {
  if (error instanceof Damage) return true;
  const cause = error instanceof StoreError ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return code.startsWith('SQLITE_CORRUPT') || code.startsWith('SQLITE_NOTADB');
}

function damaged(path: string, error: unknown): StoreError {
  return new StoreError('STORE_DAMAGED', `${path}: the store is damaged: ${messageOf(error)}`, { cause: error });
}

async function connect(path: string): Promise<Libsql.Database> {
  try {
    // Imported here so that the native library is loaded only when a store is opened.
    const { default: Database } = await import('libsql');
    return new Database(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

/** The file is made here and not by SQLite so that it is never readable by others, not even for a moment. */
async function prepareFile(path: string): Promise<void> {
  let file: FileStart;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    file = await readHeader(path, 'a+');
  } catch (error) {
    throw unusable(path, error);
  }
  assertOurs(path, file);
}

interface FileStart {
  header: Buffer;
  size: number;
  /** There are changes beside the file which are not in it yet. */
  hasLog: boolean;
}

async function readHeader(path: string, flags: 'a+' | 'r'): Promise<FileStart> {
  const file = await open(path, flags, 0o600);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    const { size } = await file.stat();
    return { header: buffer.subarray(0, bytesRead), size, hasLog: (await sizeOf(`${path}-wal`)) > 0 };
  } finally {
    await file.close();
  }
}

function assertOurs(path: string, file: FileStart): void {
  if (isTruncated(file)) throw damaged(path, new Damage('a part of the file is missing'));
  const refusal = foreign(file.header);
  if (refusal === undefined) return;
  throw new StoreError('STORE_NOT_OURS', `${path}: ${refusal}; nothing was changed; give another path as the store`);
}

/** A store that is shorter than its header says. If there is a log, the missing pages may still be in it. */
function isTruncated({ header, size, hasLog }: FileStart): boolean {
  // SQLite writes the first page before it creates the log: an empty file with a log was truncated.
  if (header.length === 0) return hasLog;
  if (header.length < HEADER_BYTES) return MAGIC.startsWith(header.toString('latin1', 0, MAGIC.length));
  if (hasLog || foreign(header) !== undefined) return false;
  const pageSize = header.readUInt16BE(PAGE_SIZE_OFFSET);
  const pages = header.readUInt32BE(PAGE_COUNT_OFFSET);
  // The count holds only if it was written together with the last change.
  const holds = header.readUInt32BE(CHANGES_OFFSET) === header.readUInt32BE(COUNTED_AT_OFFSET);
  return holds && size < pages * (pageSize === 1 ? 65_536 : pageSize);
}

/**
 * Judged by the bytes of the file: opening and closing the database of another program could already write to it.
 */
function foreign(header: Buffer): string | undefined {
  if (header.length === 0) return undefined;
  if (header.length < HEADER_BYTES || !header.subarray(0, MAGIC.length).equals(Buffer.from(MAGIC))) {
    return 'the file is not a database';
  }
  if (header.readUInt32BE(APPLICATION_ID_OFFSET) !== APPLICATION_ID) {
    return 'the file is a database of another program';
  }
  return undefined;
}

export function unusable(path: string, error: unknown): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${path}: the store cannot be opened: ${messageOf(error)}; check that the folder exists and can be written, ` +
      'or give another path as the store',
    { cause: error },
  );
}

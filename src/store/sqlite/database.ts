/** Opens the database file: makes it if it is missing, refuses it untouched if it is not a store of ours. */

import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type Libsql from 'libsql';
import { messageOf } from '../../lib/log.ts';
import { StoreError } from '../error.ts';
import { APPLICATION_ID, migrate } from './migrations.ts';

const BUSY_TIMEOUT_MS = 5000;

/** The SQLite file format: the first bytes of the file, and where the application id is in its header. */
const MAGIC = 'SQLite format 3\0';
const APPLICATION_ID_OFFSET = 68;
const HEADER_BYTES = 100;

export async function openDatabase(path: string): Promise<Libsql.Database> {
  const inMemory = path === ':memory:';
  if (!inMemory) await prepareFile(path);
  const db = await connect(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    migrate(db, path);
    // Only after the first migration, so that the application id is in the file itself and never only in its log.
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    if (!inMemory) await chmod(path, 0o600);
    return db;
  } catch (error) {
    db.close();
    if (error instanceof StoreError) throw error;
    throw unusable(path, error);
  }
}

async function connect(path: string): Promise<Libsql.Database> {
  try {
    // Imported here so that only those who open a store pay for loading the native library.
    const { default: Database } = await import('libsql');
    return new Database(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

/** The file is made here and not by SQLite so that it is never readable by others, not even for a moment. */
async function prepareFile(path: string): Promise<void> {
  let header: Buffer;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = await open(path, 'a+', 0o600);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
      header = buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unusable(path, error);
  }
  const refusal = foreign(header);
  if (refusal === undefined) return;
  throw new StoreError('STORE_NOT_OURS', `${path}: ${refusal}; nothing was changed; give another path as the store`);
}

/**
 * Judged by the bytes of the file, without opening it as a database: opening and closing somebody else's database can
 * already write to it.
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

function unusable(path: string, error: unknown): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${path}: the store cannot be opened: ${messageOf(error)}; check that the folder exists and can be written, ` +
      'or give another path as the store',
    { cause: error },
  );
}

/** Removes expired records and idle sessions from a store that no gateway uses. */

import type Libsql from 'libsql';
import { messageOf } from '../../lib/log.ts';
import { StoreError } from '../store-error.ts';
import { fileOf, toStoreError, openDatabase, openToLook } from './database.ts';
import { bytesOf } from './inspect.ts';
import { lockStore, writeOwner, userOf } from './lock.ts';
import { OWNED_BY_A_SESSION, TABLES } from '../records.ts';
import type { FilePruned, PruneRules } from '../summary.ts';
import { transaction } from './transaction.ts';

/** A file has no lease. */
type FileRules = Omit<PruneRules, 'leaseMs'>;

export async function pruneStore(given: string, rules: FileRules): Promise<FilePruned> {
  const path = await fileOf(given);
  // Before any file is created beside it: it may belong to another program.
  (await openToLook(path)).close();
  const bytesBefore = await bytesOf(path);
  const user = await userOf(path);
  if (user) throw inUse(path, user.pid);
  const lock = await lockStore(path);
  try {
    const db = await openDatabase(path);
    let done: Omit<FilePruned, 'file' | 'bytesBefore' | 'bytesAfter'>;
    try {
      writeOwner(db);
      const removed = remove(db, rules);
      const notCompacted = compact(db);
      done = { removed, ...(notCompacted !== undefined && { notCompacted }) };
      db.exec('DELETE FROM owner; PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      throw toStoreError(path, error);
    } finally {
      db.close();
    }
    return { file: path, ...done, bytesBefore, bytesAfter: await bytesOf(path) };
  } finally {
    lock.release();
  }
}

function inUse(path: string, pid: number | undefined): StoreError {
  const who = pid === undefined ? 'a gateway' : `the gateway with process id ${pid}`;
  return new StoreError(
    'STORE_IN_USE',
    `${path}: ${who} is using this store and removes expired records itself; stop it to prune the store now`,
  );
}

function remove(db: Libsql.Database, { now, idleBefore, endedBefore }: FileRules): FilePruned['removed'] {
  const removed = { sessions: 0, tasks: 0, questions: 0, events: 0 };
  transaction(db, () => {
    removed.tasks += db.prepare('DELETE FROM tasks WHERE keep_until <= ?').run(now).changes;
    if (endedBefore !== undefined) {
      removed.tasks += db
        .prepare(`DELETE FROM tasks WHERE keep_until IS NOT NULL AND json_extract(data, '$.updatedAt') < ?`)
        .run(endedBefore).changes;
    }
    const idle = `SELECT id FROM sessions WHERE json_extract(data, '$.lastActiveAt') < ?
      AND id NOT IN (SELECT session_id FROM tasks WHERE keep_until IS NULL)`;
    for (const kind of OWNED_BY_A_SESSION) {
      const { changes } = db.prepare(`DELETE FROM ${TABLES[kind]} WHERE session_id IN (${idle})`).run(idleBefore);
      // Subscriptions belong to their sessions.
      if (kind !== 'subscription') removed[`${kind}s`] += changes;
    }
    removed.sessions = db.prepare(`DELETE FROM sessions WHERE id IN (${idle})`).run(idleBefore).changes;
  });
  return removed;
}

/** Makes the file smaller. Needs as much free space as the file has; without it the file keeps its size. */
function compact(db: Libsql.Database): string | undefined {
  try {
    db.exec('VACUUM');
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The contents of a store, read without changing it; a gateway may be using it. */

import type Libsql from 'libsql';
import type { RecordKind } from '../queue.ts';
import { fileOf, toStoreError, openToLook, sizeOf } from './database.ts';
import { userOf } from './lock.ts';
import { schemaVersion } from './migrations.ts';
import { TABLES } from '../records.ts';
import type { FileSummary, KindSummary, ShownKind } from '../summary.ts';

/** Answered questions that wait for their server are not counted. */
const WHICH: Partial<Record<RecordKind, string>> = { question: `WHERE json_extract(data, '$.status') = 'open'` };

export async function inspectStore(given: string): Promise<FileSummary> {
  const path = await fileOf(given);
  const db = await openToLook(path);
  try {
    const usedBy = await userOf(path);
    const of = (kind: ShownKind): KindSummary => summaryOf(db, kind);
    return {
      file: path,
      bytes: await bytesOf(path),
      schemaVersion: schemaVersion(db),
      ...(usedBy && { usedBy }),
      kinds: {
        session: of('session'),
        task: of('task'),
        question: of('question'),
        event: of('event'),
        server: of('server'),
      },
      tasksByStatus: tasksByStatus(db),
    };
  } catch (error) {
    throw toStoreError(path, error);
  } finally {
    db.close();
  }
}

export async function bytesOf(path: string): Promise<number> {
  return (await sizeOf(path)) + (await sizeOf(`${path}-wal`));
}

function summaryOf(db: Libsql.Database, kind: RecordKind): KindSummary {
  const moment = `json_extract(data, '$.${kind === 'server' ? 'addedAt' : 'createdAt'}')`;
  const row = db
    .prepare(
      `SELECT count(*) AS count, min(${moment}) AS oldest, max(${moment}) AS newest FROM ${TABLES[kind]} ${WHICH[kind] ?? ''}`,
    )
    .get() as { count: number; oldest: number | null; newest: number | null };
  return {
    count: row.count,
    ...(row.oldest !== null && { oldest: row.oldest }),
    ...(row.newest !== null && { newest: row.newest }),
  };
}

function tasksByStatus(db: Libsql.Database): Record<string, number> {
  const rows = db
    .prepare(`SELECT json_extract(data, '$.status') AS status, count(*) AS count FROM tasks GROUP BY 1 ORDER BY 1`)
    .all() as { status: string; count: number }[];
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

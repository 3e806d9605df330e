/** All records of a store, one at a time; a gateway may be using it meanwhile. */

import type Libsql from 'libsql';
import { EXPORTED_KINDS, exportLine, type ExportOptions } from '../export-line.ts';
import { TABLES } from '../records.ts';
import { fileOf, toStoreError, openToLook } from './database.ts';

/**
 * Each as one line of JSON. Every record is looked up for itself: one open query over all of them would keep the gateway
 * from tidying up its log for as long as the reader takes, and a page of them may be large.
 */
export async function* exportStore(given: string, options: ExportOptions = {}): AsyncGenerator<string> {
  const path = await fileOf(given);
  const db = await openToLook(path);
  try {
    for (const kind of EXPORTED_KINDS) {
      if (!hasTable(db, TABLES[kind])) continue;
      const after = db.prepare(`SELECT id, data FROM ${TABLES[kind]} WHERE id > ? ORDER BY id LIMIT 1`);
      const next = (id: string) => after.get(id) as { id: string; data: string } | undefined;
      for (let row = next(''); row !== undefined; row = next(row.id)) {
        yield exportLine(kind, row.data, options);
      }
    }
  } catch (error) {
    throw toStoreError(path, error);
  } finally {
    db.close();
  }
}

/** A store of an older version may not have it yet. */
function hasTable(db: Libsql.Database, table: string): boolean {
  return db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`).get(table) !== undefined;
}

/** All records of a store, some at a time; gateways may be using it meanwhile. */

import { EXPORTED_KINDS, exportLine, type ExportOptions } from '../export-line.ts';
import { TABLES } from '../records.ts';
import { openToLook } from './look.ts';
import { SCHEMA } from './schema.ts';

/** The limits of one page in records and bytes; a single record may be larger. */
const PAGE_RECORDS = 500;
const PAGE_BYTES = 4 * 1024 * 1024;

const nextPage = (table: string): string => `SELECT id, data FROM (
    SELECT id, data, sum(octet_length(data)) OVER (ORDER BY id) - octet_length(data) AS before
    FROM (SELECT id, data FROM ${SCHEMA}.${table} WHERE id > $1 ORDER BY id LIMIT ${PAGE_RECORDS}) page) sized
  WHERE before < ${PAGE_BYTES} ORDER BY id`;

export async function* exportStore(url: string, options: ExportOptions = {}): AsyncGenerator<string> {
  const look = await openToLook(url);
  try {
    for (const kind of EXPORTED_KINDS) {
      const sql = nextPage(TABLES[kind]);
      for (let rows = await look.read(sql, ['']); rows.length > 0;) {
        for (const { data } of rows) yield exportLine(kind, String(data), options);
        rows = await look.read(sql, [String(rows.at(-1)?.['id'])]);
      }
    }
  } finally {
    await look.close();
  }
}

/** All records of a store, one at a time; a gateway may be using it meanwhile. */

import type Libsql from 'libsql';
import type { ServerConfig, ServerRecord, SessionRecord } from '../../core/ports.ts';
import type { RecordKind } from '../queue.ts';
import { redactUrl } from '../../lib/redact.ts';
import { fileOf, toStoreError, openToLook } from './database.ts';
import { TABLES } from '../records.ts';
import { parseExact, stringifyExact } from '../../lib/exact-json.ts';

const KINDS: readonly RecordKind[] = ['session', 'server', 'task', 'question', 'event', 'subscription'];

const HIDDEN = '***';

/**
 * Each as one line of JSON. Every record is looked up for itself: one open query over all of them would keep the gateway
 * from tidying up its log for as long as the reader takes, and a page of them may be large.
 */
export async function* exportStore(given: string, { secrets = false } = {}): AsyncGenerator<string> {
  const path = await fileOf(given);
  const db = await openToLook(path);
  try {
    for (const kind of KINDS) {
      if (!hasTable(db, TABLES[kind])) continue;
      const after = db.prepare(`SELECT id, data FROM ${TABLES[kind]} WHERE id > ? ORDER BY id LIMIT 1`);
      const next = (id: string) => after.get(id) as { id: string; data: string } | undefined;
      for (let row = next(''); row !== undefined; row = next(row.id)) {
        const data = secrets ? row.data : withoutSecrets(kind, row.data);
        yield `{"kind":"${kind}","record":${data}}\n`;
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

function withoutSecrets(kind: RecordKind, data: string): string {
  if (kind === 'server') {
    const record = parseExact(data) as ServerRecord;
    return stringifyExact({ ...record, config: hidden(record.config) });
  }
  if (kind !== 'session') return data;
  const record = parseExact(data) as SessionRecord;
  return stringifyExact({ ...record, ...(record.key !== undefined && { key: HIDDEN }) });
}

/** Hides possible secrets; host and program stay visible. */
function hidden(config: ServerConfig): ServerConfig {
  if ('url' in config) {
    return { url: redactUrl(config.url), ...(config.headers && { headers: valuesHidden(config.headers) }) };
  }
  return {
    ...config,
    ...(config.args && { args: config.args.map(() => HIDDEN) }),
    ...(config.env && { env: valuesHidden(config.env) }),
  };
}

function valuesHidden(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, HIDDEN]));
}

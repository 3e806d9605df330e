/** Inspects or prunes a store, a file or a database. The PostgreSQL parts are loaded on use. */

import { isPostgresUrl } from '../lib/postgres-url.ts';
import type { AuditToRead } from './audit/to-read.ts';
import type { ExportOptions } from './export-line.ts';
import { exportStore as exportFile } from './sqlite/export.ts';
import { inspectStore as inspectFile } from './sqlite/inspect.ts';
import { pruneStore as pruneFile } from './sqlite/prune.ts';
import type { PruneReport, PruneRules, StoreSummary } from './summary.ts';

export async function inspectStore(store: string): Promise<StoreSummary> {
  return isPostgresUrl(store) ? (await import('./postgres/inspect.ts')).inspectStore(store) : inspectFile(store);
}

export async function pruneStore(store: string, rules: PruneRules): Promise<PruneReport> {
  return isPostgresUrl(store)
    ? (await import('./postgres/prune.ts')).pruneStore(store, rules)
    : pruneFile(store, rules);
}

/** Each record as one line of JSON. */
export async function* exportStore(store: string, options: ExportOptions = {}): AsyncGenerator<string> {
  yield* isPostgresUrl(store)
    ? (await import('./postgres/export.ts')).exportStore(store, options)
    : exportFile(store, options);
}

export async function openAuditToRead(store: string): Promise<AuditToRead> {
  return isPostgresUrl(store)
    ? (await import('./postgres/audit.ts')).openAuditToRead(store)
    : (await import('./sqlite/audit.ts')).openAuditToRead(store);
}

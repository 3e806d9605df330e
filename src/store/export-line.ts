/** A record as a line of an export. */

import type { ServerRecord, SessionRecord } from '../core/ports/records.ts';
import type { ServerConfig } from '../core/ports/server-config.ts';
import { parseExact, stringifyExact } from '../lib/exact-json.ts';
import { redactUrl } from '../lib/redact.ts';
import type { RecordKind } from './queue.ts';

export interface ExportOptions {
  /** Whether secrets are shown. */
  secrets?: boolean;
}

/** The kinds of records in the order in which they are exported. */
export const EXPORTED_KINDS: readonly RecordKind[] = ['session', 'server', 'task', 'question', 'event', 'subscription'];

const HIDDEN = '***';

export function exportLine(kind: RecordKind, data: string, { secrets = false }: ExportOptions): string {
  return `{"kind":"${kind}","record":${secrets ? data : withoutSecrets(kind, data)}}\n`;
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

/** The contents of a store, read without changing it; gateways may be using it. */

import { TABLES } from '../records.ts';
import type { DatabaseSummary, KindSummary, ShownKind, UsingGateway } from '../summary.ts';
import { type Look, openToLook } from './look.ts';
import { SCHEMA } from './schema.ts';

/** From this version on, leases contain their duration. */
const HAS_LEASES = 3;

/** Answered questions that wait for their server are not counted. */
const WHICH: Partial<Record<ShownKind, string>> = { question: `WHERE data::json->>'status' = 'open'` };

export async function inspectStore(url: string): Promise<DatabaseSummary> {
  const look = await openToLook(url);
  try {
    const { name: database, schemaVersion } = look;
    const tasks = await summaryOf(look, 'task');
    return {
      database,
      bytes: await bytesOf(look),
      schemaVersion,
      gateways: schemaVersion < HAS_LEASES ? [] : await gatewaysIn(look),
      kinds: {
        session: (await summaryOf(look, 'session')).all,
        task: tasks.all,
        question: (await summaryOf(look, 'question')).all,
        event: (await summaryOf(look, 'event')).all,
        server: (await summaryOf(look, 'server')).all,
      },
      tasksByStatus: tasks.byStatus,
    };
  } finally {
    await look.close();
  }
}

/** What the tables and their indexes take. */
export async function bytesOf({ read }: Pick<Look, 'read'>): Promise<number> {
  const [row] = await read(`SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
    WHERE relnamespace = to_regnamespace('${SCHEMA}') AND relkind = 'r'`);
  return Number(row?.['bytes']);
}

async function gatewaysIn({ read }: Look): Promise<UsingGateway[]> {
  const rows = await read(`SELECT gateway, address,
      extract(epoch FROM clock_timestamp() - until) * 1000 + lease_ms AS renewed_ms_ago
    FROM ${SCHEMA}.leases WHERE until > clock_timestamp() ORDER BY address, gateway`);
  return rows.map(({ gateway, address, renewed_ms_ago: ago }) => ({
    id: String(gateway),
    ...(typeof address === 'string' && { address }),
    renewedMsAgo: Math.max(0, Math.round(Number(ago))),
  }));
}

/** Each table is read once. */
async function summaryOf(
  { read }: Look,
  kind: ShownKind,
): Promise<{ all: KindSummary; byStatus: Record<string, number> }> {
  const rows = await read(`SELECT status, count(*) AS count, min(moment) AS oldest, max(moment) AS newest
    FROM (SELECT json->>'status' AS status, (json->>'${kind === 'server' ? 'addedAt' : 'createdAt'}')::double precision AS moment
      FROM (SELECT data::json AS json FROM ${SCHEMA}.${TABLES[kind]} ${WHICH[kind] ?? ''} OFFSET 0) record) known
    GROUP BY status ORDER BY status`);
  const moments = (column: 'oldest' | 'newest'): number[] =>
    rows.flatMap(({ [column]: moment }) => (typeof moment === 'number' ? [moment] : []));
  const [oldest, newest] = [moments('oldest'), moments('newest')];
  return {
    all: {
      count: rows.reduce((sum, { count }) => sum + Number(count), 0),
      ...(oldest.length > 0 && { oldest: Math.min(...oldest) }),
      ...(newest.length > 0 && { newest: Math.max(...newest) }),
    },
    byStatus: Object.fromEntries(rows.map(({ status, count }) => [String(status), Number(count)])),
  };
}

/** The schema of the store, as migrations. A released migration never changes; a schema change is a new migration. */

import { codeOf, messageOf } from '../../lib/log.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import { openFailure } from './failure.ts';

const PERMISSION_DENIED = '42501';

export const SCHEMA = 'meanwhile';

/** The advisory lock for schema changes: "Mnwl" in ASCII. */
const MIGRATION_LOCK = 0x4d6e776c;

/**
 * Step `n` (from 1) brings a store from version `n - 1` to version `n`. Records are text, not jsonb, which would change
 * numbers; what they are looked up by is in columns. Ids are compared as bytes, like those in memory.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meanwhile.sessions (id text COLLATE "C" PRIMARY KEY, data text NOT NULL, principal text COLLATE "C" NOT NULL,
    owner_kind text NOT NULL, last_active_at double precision NOT NULL, resumes boolean NOT NULL);
  CREATE INDEX sessions_by_principal ON meanwhile.sessions (principal, owner_kind);
  CREATE INDEX sessions_by_activity ON meanwhile.sessions (last_active_at);
  CREATE INDEX sessions_to_resume ON meanwhile.sessions (id) WHERE resumes;
  CREATE TABLE meanwhile.tasks (id text COLLATE "C" PRIMARY KEY, session_id text COLLATE "C" NOT NULL, data text NOT NULL,
    keep_until double precision);
  CREATE INDEX tasks_by_session ON meanwhile.tasks (session_id);
  CREATE INDEX tasks_by_end ON meanwhile.tasks (keep_until) WHERE keep_until IS NOT NULL;
  CREATE INDEX tasks_at_work ON meanwhile.tasks (session_id) WHERE keep_until IS NULL;
  CREATE TABLE meanwhile.questions (id text COLLATE "C" PRIMARY KEY, session_id text COLLATE "C" NOT NULL, data text NOT NULL);
  CREATE INDEX questions_by_session ON meanwhile.questions (session_id);
  CREATE TABLE meanwhile.events (id text COLLATE "C" PRIMARY KEY, session_id text COLLATE "C" NOT NULL, data text NOT NULL);
  CREATE INDEX events_by_session ON meanwhile.events (session_id);
  CREATE TABLE meanwhile.subscriptions (id text COLLATE "C" PRIMARY KEY, session_id text COLLATE "C" NOT NULL,
    data text NOT NULL);
  CREATE INDEX subscriptions_by_session ON meanwhile.subscriptions (session_id);
  CREATE TABLE meanwhile.servers (id text COLLATE "C" PRIMARY KEY, data text NOT NULL);
  CREATE TABLE meanwhile.set_aside (kind text NOT NULL, id text COLLATE "C" NOT NULL, data text NOT NULL,
    reason text NOT NULL, PRIMARY KEY (kind, id));
  CREATE TABLE meanwhile.gateways (id text PRIMARY KEY, commits bigint NOT NULL);
  CREATE SEQUENCE meanwhile.fences;
  CREATE TABLE meanwhile.claims (session_id text COLLATE "C" PRIMARY KEY, gateway text NOT NULL, fence bigint NOT NULL,
    until timestamptz NOT NULL);
  CREATE INDEX claims_by_gateway ON meanwhile.claims (gateway);
  `,
  // Claims last as long as the lease of their gateway: one row to renew, however many sessions there are.
  `
  CREATE TABLE meanwhile.leases (gateway text PRIMARY KEY, address text, until timestamptz NOT NULL);
  ALTER TABLE meanwhile.claims DROP COLUMN until, ADD COLUMN attempt bigint NOT NULL DEFAULT 0;
  CREATE TABLE meanwhile.secrets (name text PRIMARY KEY, value text NOT NULL);
  INSERT INTO meanwhile.secrets VALUES ('gateways', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
  `,
  // Data that gateways share with their leases.
  `
  ALTER TABLE meanwhile.leases ADD COLUMN lease_ms double precision NOT NULL DEFAULT 10000, ADD COLUMN usage text;
  `,
  // One principal may have very many sessions: the newest are found first.
  `
  DROP INDEX meanwhile.sessions_by_principal;
  CREATE INDEX sessions_by_principal ON meanwhile.sessions (principal, last_active_at);
  CREATE INDEX states_by_principal ON meanwhile.sessions (principal) WHERE owner_kind = 'state';
  `,
  // The history. Its numbers start with the time, so that they differ from those of another store.
  `
  CREATE TABLE meanwhile.history (id text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL, gateway text NOT NULL,
    kind text NOT NULL, principal text COLLATE "C" NOT NULL, server text COLLATE "C" NOT NULL, tool text COLLATE "C",
    session_id text COLLATE "C", call_id text COLLATE "C", is_task integer NOT NULL, status text,
    at double precision NOT NULL, ended_at double precision, calls integer NOT NULL, errors integer NOT NULL,
    bytes integer NOT NULL, content_bytes integer, search text NOT NULL, data text NOT NULL);
  CREATE INDEX history_by_seq ON meanwhile.history (seq);
  CREATE INDEX history_by_time ON meanwhile.history (at, id);
  CREATE INDEX history_active ON meanwhile.history (kind, at, id) WHERE ended_at IS NULL;
  CREATE INDEX history_by_end ON meanwhile.history (ended_at, seq) WHERE ended_at IS NOT NULL;
  CREATE INDEX history_by_call ON meanwhile.history (call_id) WHERE call_id IS NOT NULL;
  CREATE TABLE meanwhile.history_content (id text COLLATE "C" PRIMARY KEY REFERENCES meanwhile.history ON DELETE CASCADE,
    data text NOT NULL);
  CREATE TABLE meanwhile.history_state (newest bigint NOT NULL, complete_from bigint NOT NULL);
  INSERT INTO meanwhile.history_state SELECT now, now
    FROM (SELECT floor(1000 * extract(epoch FROM clock_timestamp()))::bigint AS now) moment;
  `,
  // Counters of all gateways, such as what models have cost today.
  `
  CREATE TABLE meanwhile.counters (name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL,
    keep_until double precision NOT NULL);
  `,
  // The audit record. Its numbers start with the time, so that they differ from those of another store.
  `
  CREATE TABLE meanwhile.audit (seq bigint PRIMARY KEY, gateway text NOT NULL, n bigint NOT NULL, kind text NOT NULL,
    owner text COLLATE "C", answerer text COLLATE "C", server text COLLATE "C", tool text COLLATE "C",
    session_id text COLLATE "C", at double precision NOT NULL, bytes integer NOT NULL, data text NOT NULL);
  CREATE UNIQUE INDEX audit_by_number ON meanwhile.audit (gateway, n);
  CREATE INDEX audit_by_owner ON meanwhile.audit (owner, seq);
  CREATE TABLE meanwhile.audit_state (newest bigint NOT NULL, bytes bigint NOT NULL);
  INSERT INTO meanwhile.audit_state SELECT floor(1000 * extract(epoch FROM clock_timestamp()))::bigint, 0;
  `,
  // The queue of notifications.
  `
  CREATE TABLE meanwhile.outbox (id text COLLATE "C" PRIMARY KEY, target text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL, state text NOT NULL, created_at double precision NOT NULL,
    due_at double precision NOT NULL, give_up_at double precision NOT NULL, keep_until double precision NOT NULL,
    attempts integer NOT NULL, claim text, ended_at double precision, error text, data text NOT NULL);
  CREATE INDEX outbox_by_time ON meanwhile.outbox (due_at, target) WHERE state = 'waiting';
  CREATE INDEX outbox_by_subject ON meanwhile.outbox (subject) WHERE state = 'waiting';
  `,
  // Lines of a person, tool or session may be few among very many. Lines are written in batches, so that these indexes cost little.
  `
  CREATE INDEX audit_by_answerer ON meanwhile.audit (answerer, seq) WHERE answerer IS NOT NULL;
  CREATE INDEX audit_by_server ON meanwhile.audit (server, seq) WHERE server IS NOT NULL;
  CREATE INDEX audit_by_tool ON meanwhile.audit (tool, seq) WHERE tool IS NOT NULL;
  CREATE INDEX audit_by_session ON meanwhile.audit (session_id, seq) WHERE session_id IS NOT NULL;
  CREATE INDEX outbox_claimed ON meanwhile.outbox (claim) WHERE claim IS NOT NULL;
  `,
  // Accounts on servers that require authorization. `data` is encrypted.
  `
  CREATE TABLE meanwhile.accounts (kind text NOT NULL, id text COLLATE "C" NOT NULL, principal text COLLATE "C" NOT NULL,
    server text COLLATE "C" NOT NULL, version text NOT NULL, created_at double precision NOT NULL,
    keep_until double precision, claim text, claim_until double precision, data text NOT NULL, PRIMARY KEY (kind, id));
  CREATE INDEX accounts_by_principal ON meanwhile.accounts (kind, principal, server);
  `,
];

/** The oldest version with everything that the statements need; `gen_random_uuid` is the newest feature. */
const OLDEST_SERVER = 13;

/** Needs no right on the schema. */
const FIND = `SELECT current_setting('server_version_num') AS server, getdatabaseencoding() AS encoding, to_regnamespace('${SCHEMA}') IS NOT NULL AS has_schema,
  coalesce((SELECT array_agg(attname ORDER BY attname) = '{application,version}' FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid AND relname = 'store' AND relnamespace = to_regnamespace('${SCHEMA}')
    WHERE attnum > 0), false) AS is_ours,
  EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('${SCHEMA}')) AS has_tables`;

/** Creates the schema, or migrates it completely or not at all, or refuses it unchanged. */
export async function migrate(db: Database, migrations: readonly string[] = MIGRATIONS): Promise<void> {
  for (;;) {
    const found = await versionIn(db, migrations);
    if (found === migrations.length) return;
    if (await step(db, found, migrations)) return;
  }
}

/** The version of the store; `undefined` if there is none. Changes nothing. */
export async function storedVersion(db: Database): Promise<number | undefined> {
  const version = await versionIn(db, MIGRATIONS);
  return version === 0 ? undefined : version;
}

/** 0 if there is no store yet; `undefined` if there is no schema for it. */
async function versionIn(db: Database, migrations: readonly string[]): Promise<number | undefined> {
  const [row] = await db.greet(FIND);
  const server = Math.floor(Number(row?.['server']) / 10_000);
  if (server < OLDEST_SERVER) throw tooOld(db, server);
  if (row?.['encoding'] !== 'UTF8') throw notUnicode(db, String(row?.['encoding']));
  if (row?.['is_ours'] !== true) {
    if (row?.['has_tables'] === true) throw notOurs(db);
    return row?.['has_schema'] === true ? 0 : undefined;
  }
  const [mark] = await db.greet(`SELECT application, version FROM ${SCHEMA}.store`);
  const version = Number(mark?.['version']);
  if (mark?.['application'] !== 'meanwhile' || !Number.isSafeInteger(version)) throw notOurs(db);
  if (version <= migrations.length) return version;
  throw new StoreError(
    'STORE_TOO_NEW',
    `${db.name}: the store has schema version ${version}, but this version of meanwhile supports at most ${migrations.length}; ` +
      'update meanwhile, or use another database as the store',
  );
}

/** False if another gateway was faster. */
async function step(db: Database, found: number | undefined, migrations: readonly string[]): Promise<boolean> {
  const steps = migrations.slice(found ?? 0).join(';');
  // Fails if another gateway was faster: the table is there, or it has another version.
  const begin =
    found === undefined || found === 0
      ? `${found === undefined ? `CREATE SCHEMA ${SCHEMA};` : ''}
        CREATE TABLE ${SCHEMA}.store (application text NOT NULL, version integer NOT NULL);
        INSERT INTO ${SCHEMA}.store VALUES ('meanwhile', 0);`
      : `SELECT 1 / (SELECT count(*) FROM ${SCHEMA}.store WHERE version = ${found});`;
  const end = `UPDATE ${SCHEMA}.store SET version = ${migrations.length}`;
  try {
    await db.script(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK}); ${begin} ${steps}; ${end}`);
    return true;
  } catch (error) {
    if ((await versionIn(db, migrations)) !== found) return false;
    if (codeOf(error) === PERMISSION_DENIED)
      throw found === undefined ? mayNotCreate(db, error) : openFailure(db.name, error);
    throw new StoreError(
      'STORE_MIGRATION_FAILED',
      `${db.name}: the migration to schema version ${migrations.length} failed, and the store is unchanged: ${messageOf(error)}`,
    );
  }
}

function tooOld(db: Database, server: number): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${db.name}: the server is PostgreSQL ${server}; update it to ${OLDEST_SERVER} or newer`,
  );
}

function mayNotCreate(db: Database, error: unknown): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${db.name}: the store cannot be opened: ${messageOf(error)}; allow the user to create the schema: GRANT CREATE ON DATABASE … TO …`,
  );
}

/** Such a database could not store every text, or would count bytes as characters. */
function notUnicode(db: Database, encoding: string): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${db.name}: the encoding of the database is ${encoding}; use a database with UTF8 as the store: ` +
      `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
  );
}

function notOurs(db: Database): StoreError {
  return new StoreError(
    'STORE_NOT_OURS',
    `${db.name}: the schema "${SCHEMA}" belongs to another program; nothing was changed; use another database as the store`,
  );
}

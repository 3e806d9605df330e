/** The schema of the store, as migrations. A released migration never changes; a schema change is a new migration. */

import type Libsql from 'libsql';
import { messageOf } from '../../lib/log.ts';
import { StoreError } from '../store-error.ts';
import { transaction } from './transaction.ts';

/** Marks a database file as ours: "Mnwl" in ASCII. */
export const APPLICATION_ID = 0x4d6e776c;

/** Step `n` (from 1) brings a store from version `n - 1` to version `n`. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE sessions (id TEXT PRIMARY KEY, data TEXT NOT NULL);
  CREATE TABLE servers (id TEXT PRIMARY KEY, data TEXT NOT NULL);
  CREATE TABLE tasks (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, data TEXT NOT NULL);
  CREATE TABLE questions (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, data TEXT NOT NULL);
  CREATE TABLE events (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, data TEXT NOT NULL);
  CREATE INDEX tasks_by_session ON tasks (session_id);
  CREATE INDEX questions_by_session ON questions (session_id);
  CREATE INDEX events_by_session ON events (session_id);
  `,
  // So that a start reads only what it needs: unfinished tasks (no time) and overdue ones.
  `
  ALTER TABLE tasks ADD COLUMN keep_until INTEGER;
  UPDATE tasks SET keep_until = json_extract(data, '$.keepUntil');
  CREATE INDEX tasks_by_end ON tasks (keep_until, session_id);
  CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), pid INTEGER NOT NULL);
  `,
  // A server that a client added belongs to a principal, and two principals may use the same name. Where the session
  // that added it is gone, nobody knows whose it was: it goes to the principal of a gateway without tokens.
  `
  UPDATE servers SET data = json_set(data, '$.name', id, '$.owner', coalesce(
    (SELECT json_extract(sessions.data, '$.principal') FROM sessions
     WHERE sessions.id = json_extract(servers.data, '$.addedBy')), 'local'));
  UPDATE servers SET id = json_extract(data, '$.owner') || '/' || id;
  UPDATE servers SET data = json_set(data, '$.id', id);
  `,
  // Each subscription is a separate row, so that adding one does not rewrite all the others.
  `
  CREATE TABLE subscriptions (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, data TEXT NOT NULL);
  CREATE INDEX subscriptions_by_session ON subscriptions (session_id);
  INSERT INTO subscriptions SELECT key, session_id,
    json_object('id', key, 'sessionId', session_id, 'server', server, 'uri', uri)
  FROM (SELECT sessions.id || '/' || wish.key || '/' || uri.value AS key, sessions.id AS session_id,
      wish.key AS server, uri.value AS uri
    FROM sessions, json_each(sessions.data, '$.wishes') AS wish, json_each(wish.value, '$.uris') AS uri);
  `,
  // A question has one link to the call or task that asked it, and its task does not list it again. Calls have other ids
  // after a restart, so only the task is worth keeping.
  `
  UPDATE questions SET data = json_set(
    json_remove(data, '$.callId', '$.borrowed', '$.candidates', '$.taskId', '$.hidden', '$.toolsOnly'),
    '$.link', CASE WHEN json_extract(data, '$.taskId') IS NULL THEN json_object('certainty', 'none')
      ELSE json_object('certainty', 'certain', 'by', json_object('taskId', json_extract(data, '$.taskId'))) END,
    '$.audience', CASE WHEN json_extract(data, '$.toolsOnly') THEN 'tools'
      WHEN json_extract(data, '$.hidden') THEN 'none' ELSE 'anyone' END) WHERE json_valid(data);
  UPDATE tasks SET data = json_remove(data, '$.questions') WHERE json_valid(data);
  `,
  // Records have the names of the fields in the program. Those that cannot be read stay as they are, and are set aside later.
  `
  UPDATE tasks SET data = json_remove(json_set(data, '$.abandoned', json('true')), '$.orphan')
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.orphan') IS NOT NULL END;
  UPDATE tasks SET data = json_remove(json_set(data, '$.exposed', json('true')), '$.promised')
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.promised') IS NOT NULL END;
  UPDATE tasks SET data = json_remove(json_set(data, '$.native', json('true')), '$.kept')
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.kept') IS NOT NULL END;
  UPDATE tasks SET data = json_remove(json_set(data, '$.checkpoint', json_extract(data, '$.standing')), '$.standing')
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.standing') IS NOT NULL END;
  UPDATE sessions SET data = json_remove(json_set(data, '$.preferences', json_extract(data, '$.wishes')), '$.wishes')
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.wishes') IS NOT NULL END;
  `,
  // Records that cannot be read go here, so that they do not keep the program from starting.
  `
  CREATE TABLE set_aside (kind TEXT NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (kind, id));
  `,
  // Sessions have kinds: what the client sees, and who they belong to. Columns for what sessions are looked up by.
  `
  UPDATE sessions SET data = json_remove(json_set(data,
    '$.view', CASE WHEN json_extract(data, '$.server') IS NULL THEN json_object('kind', 'hub')
      ELSE json_object('kind', 'direct', 'server', json_extract(data, '$.server')) END,
    '$.owner', CASE
      WHEN json_extract(data, '$.client') IS NOT NULL
        THEN json_object('kind', 'client', 'client', json(json_extract(data, '$.client')))
      WHEN json_extract(data, '$.state') IS NOT NULL
        THEN json_object('kind', 'state', 'name', json_extract(data, '$.state'))
      WHEN id LIKE 'principal:%' OR id LIKE 'direct:%' THEN json_object('kind', 'state')
      ELSE json_object('kind', 'connection') END
    ), '$.server', '$.client', '$.state')
    WHERE CASE WHEN json_valid(data) THEN json_type(data) = 'object' END;
  ALTER TABLE sessions ADD COLUMN principal TEXT;
  ALTER TABLE sessions ADD COLUMN owner_kind TEXT;
  ALTER TABLE sessions ADD COLUMN last_active_at INTEGER;
  ALTER TABLE sessions ADD COLUMN resumes INTEGER;
  UPDATE sessions SET principal = json_extract(data, '$.principal'), owner_kind = json_extract(data, '$.owner.kind'),
    last_active_at = json_extract(data, '$.lastActiveAt'),
    resumes = json_extract(data, '$.view.kind') = 'direct' OR json_extract(data, '$.preferences') IS NOT NULL
    WHERE json_valid(data);
  CREATE INDEX sessions_by_principal ON sessions (principal, owner_kind);
  CREATE INDEX sessions_by_activity ON sessions (last_active_at);
  CREATE INDEX sessions_to_resume ON sessions (resumes) WHERE resumes;
  `,
  // Checkpoints have a version.
  `
  UPDATE tasks SET data = json_set(data, '$.checkpoint.version', 1)
    WHERE CASE WHEN json_valid(data) THEN json_extract(data, '$.checkpoint') IS NOT NULL END;
  `,
  // The history. Its numbers start with the time, so that they differ from those of another file.
  `
  CREATE TABLE history (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, gateway TEXT NOT NULL, kind TEXT NOT NULL,
    principal TEXT NOT NULL, server TEXT NOT NULL, tool TEXT, session_id TEXT, call_id TEXT, is_task INTEGER NOT NULL,
    status TEXT, at INTEGER NOT NULL, ended_at INTEGER, calls INTEGER NOT NULL, errors INTEGER NOT NULL,
    bytes INTEGER NOT NULL, content_bytes INTEGER, search TEXT NOT NULL, data TEXT NOT NULL);
  CREATE UNIQUE INDEX history_by_seq ON history (seq);
  CREATE INDEX history_by_time ON history (at, id, kind, principal);
  CREATE INDEX history_active ON history (kind, at, id) WHERE ended_at IS NULL;
  CREATE INDEX history_by_end ON history (ended_at, seq, bytes, content_bytes);
  CREATE INDEX history_by_call ON history (call_id) WHERE call_id IS NOT NULL;
  CREATE TABLE history_content (id TEXT PRIMARY KEY, data TEXT NOT NULL);
  CREATE TRIGGER history_deleted AFTER DELETE ON history BEGIN DELETE FROM history_content WHERE id = old.id; END;
  CREATE TABLE history_state (newest INTEGER NOT NULL, complete_from INTEGER NOT NULL);
  INSERT INTO history_state SELECT now, now FROM (SELECT 1000 * strftime('%s', 'now') AS now);
  `,
  // Keys that must outlive the program, such as the one that signs the cookies of the console.
  `
  CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);
  `,
  // Counters that must outlive the program, such as what models have cost today.
  `
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL, keep_until INTEGER NOT NULL);
  `,
  // The audit record. Its numbers start with the time, so that they differ from those of another file.
  `
  CREATE TABLE audit (seq INTEGER PRIMARY KEY, gateway TEXT NOT NULL, n INTEGER NOT NULL, kind TEXT NOT NULL,
    owner TEXT, answerer TEXT, server TEXT, tool TEXT, session_id TEXT, at INTEGER NOT NULL, bytes INTEGER NOT NULL,
    data TEXT NOT NULL);
  CREATE UNIQUE INDEX audit_by_number ON audit (gateway, n);
  CREATE TABLE audit_state (newest INTEGER NOT NULL, bytes INTEGER NOT NULL);
  INSERT INTO audit_state SELECT 1000 * strftime('%s', 'now'), 0;
  `,
  // The queue of notifications.
  `
  CREATE TABLE outbox (id TEXT PRIMARY KEY, target TEXT NOT NULL, subject TEXT NOT NULL, state TEXT NOT NULL,
    created_at INTEGER NOT NULL, due_at INTEGER NOT NULL, give_up_at INTEGER NOT NULL, keep_until INTEGER NOT NULL,
    attempts INTEGER NOT NULL, claim TEXT, ended_at INTEGER, error TEXT, data TEXT NOT NULL);
  CREATE INDEX outbox_by_time ON outbox (due_at, target) WHERE state = 'waiting';
  CREATE INDEX outbox_by_subject ON outbox (subject) WHERE state = 'waiting';
  `,
  // Accounts on servers that require authorization. `data` is encrypted.
  `
  CREATE TABLE accounts (kind TEXT NOT NULL, id TEXT NOT NULL, principal TEXT NOT NULL, server TEXT NOT NULL,
    version TEXT NOT NULL, created_at INTEGER NOT NULL, keep_until INTEGER, claim TEXT, claim_until INTEGER,
    data TEXT NOT NULL, PRIMARY KEY (kind, id));
  CREATE INDEX accounts_by_principal ON accounts (kind, principal, server);
  `,
];

/** Migrates the store completely or not at all, or refuses it unchanged if a newer version of the program wrote it. */
export function migrate(db: Libsql.Database, path: string, migrations: readonly string[] = MIGRATIONS): void {
  if (assertNotNewer(db, path, migrations) === migrations.length) return;
  transaction(db, () => {
    // Checked again under the lock: another process may have opened the same new store at the same moment.
    const found = assertNotNewer(db, path, migrations);
    for (const [index, sql] of migrations.entries()) if (index >= found) step(db, path, index + 1, sql);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
  });
}

/** Returns the version found. */
export function assertNotNewer(db: Libsql.Database, path: string, migrations: readonly string[] = MIGRATIONS): number {
  const found = schemaVersion(db);
  if (found <= migrations.length) return found;
  throw new StoreError(
    'STORE_TOO_NEW',
    `${path}: the store has schema version ${found}, but this version of meanwhile supports at most ${migrations.length}; ` +
      'update meanwhile, or use another path for the store',
  );
}

function step(db: Libsql.Database, path: string, version: number, sql: string): void {
  try {
    db.exec(sql);
  } catch (error) {
    throw new StoreError(
      'STORE_MIGRATION_FAILED',
      `${path}: the migration to schema version ${version} failed, and the store is unchanged: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

export function schemaVersion(db: Libsql.Database): number {
  const [row] = db.pragma('user_version') as { user_version: number }[];
  return row?.user_version ?? 0;
}

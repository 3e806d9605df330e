import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from './database.ts';
import { APPLICATION_ID, migrate, MIGRATIONS, schemaVersion } from './migrations.ts';
import { SESSIONS_TO_RESUME } from './statements.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-database-'));
  path = join(folder, 'meanwhile.db');
});
afterEach(() => rm(folder, { recursive: true }));

describe('a new store', () => {
  it('P-4: has the application ID and the latest schema version', async () => {
    const db = await openDatabase(path);
    expect(schemaVersion(db)).toBe(MIGRATIONS.length);
    expect(db.pragma('application_id')).toEqual([{ application_id: APPLICATION_ID }]);
    expect(db.pragma('journal_mode')).toEqual([{ journal_mode: 'wal' }]);
    expect(db.pragma('synchronous')).toEqual([{ synchronous: 1 }]);
    expect(db.pragma('busy_timeout')).toEqual([{ timeout: 5000 }]);
    db.close();
  });

  it('P-2: finds the sessions to resume with an index', async () => {
    const db = await openDatabase(path);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${SESSIONS_TO_RESUME}`).all() as { detail: string }[];
    const scans = plan.map(({ detail }) => detail).filter((detail) => detail.startsWith('SCAN'));
    expect(scans).toEqual(['SCAN sessions USING INDEX sessions_to_resume']);
    db.close();
  });

  it('P-4: is recognized even if it was never closed', async () => {
    const first = await openDatabase(path);
    const second = await openDatabase(path);
    expect(schemaVersion(second)).toBe(MIGRATIONS.length);
    second.close();
    first.close();
  });

  it.skipIf(process.platform === 'win32')(
    'X-4: is readable by its owner only, and so are the folders made for it',
    async () => {
      path = join(folder, 'new', 'deeper', 'meanwhile.db');
      const db = await openDatabase(path);
      db.exec('CREATE TABLE t (x)');
      const modes = await Promise.all(
        [path, `${path}-wal`, join(folder, 'new'), join(folder, 'new', 'deeper')].map(
          async (each) => (await stat(each)).mode,
        ),
      );
      expect(modes.map((mode) => (mode & 0o777).toString(8))).toEqual(['600', '600', '700', '700']);
      db.close();
    },
  );
});

describe('migrations', () => {
  const LATER = [...MIGRATIONS, 'CREATE TABLE later (x)', 'ALTER TABLE later ADD COLUMN y'];

  it('P-4, S-3: a server from before servers had owners belongs to the principal of its session', () => {
    const db = new Database(path);
    migrate(db, path, MIGRATIONS.slice(0, 2));
    const put = (table: string, id: string, data: object): void => {
      db.prepare(`INSERT INTO ${table} VALUES (?, ?)`).run(id, JSON.stringify({ id, ...data }));
    };
    put('sessions', 'principal:ada', { principal: 'ada' });
    const config = { url: 'http://x/' };
    put('servers', 'known', { config, addedAt: 1, addedBy: 'principal:ada' });
    put('servers', 'unknown', { config, addedAt: 1, addedBy: 'a session that is gone' });
    migrate(db, path);
    const rows = db.prepare('SELECT id, data FROM servers ORDER BY id').all() as { id: string; data: string }[];
    expect(rows.map(({ id, data }) => ({ key: id, ...(JSON.parse(data) as object) }))).toEqual([
      {
        key: 'ada/known',
        id: 'ada/known',
        owner: 'ada',
        name: 'known',
        config,
        addedAt: 1,
        addedBy: 'principal:ada',
      },
      {
        key: 'local/unknown',
        id: 'local/unknown',
        owner: 'local',
        name: 'unknown',
        config,
        addedAt: 1,
        addedBy: 'a session that is gone',
      },
    ]);
    db.close();
  });

  it('P-4: subscriptions inside a session become records of their own', () => {
    const db = new Database(path);
    migrate(db, path, MIGRATIONS.slice(0, 3));
    const data = { wishes: { one: { uris: ['a:1', 'a:2'], logLevel: 'info' }, two: { uris: [] } } };
    db.prepare(`INSERT INTO sessions VALUES ('s', ?), ('t', '{}')`).run(JSON.stringify(data));
    migrate(db, path);
    const rows = db.prepare('SELECT id, session_id, data FROM subscriptions ORDER BY id').all() as { data: string }[];
    expect(rows).toMatchObject([{ session_id: 's' }, { session_id: 's' }]);
    expect(rows.map((row) => JSON.parse(row.data) as object)).toMatchObject([
      { sessionId: 's', server: 'one', uri: 'a:1' },
      { sessionId: 's', server: 'one', uri: 'a:2' },
    ]);
    db.close();
  });

  it('P-4: questions get links to their tasks, and fields get their current names', () => {
    const db = new Database(path);
    migrate(db, path, MIGRATIONS.slice(0, 4));
    const insert = (table: string, id: string, data: object): void => {
      db.prepare(`INSERT INTO ${table} (id, session_id, data) VALUES (?, 's', ?)`).run(id, JSON.stringify(data));
    };
    insert('questions', 'a', { id: 'a', callId: 'c', taskId: 't', borrowed: true, candidates: { calls: ['c'] } });
    insert('questions', 'b', { id: 'b', hidden: true });
    insert('questions', 'c', { id: 'c', toolsOnly: true, taskId: 't' });
    insert('tasks', 't', {
      id: 't',
      questions: [{ id: 'a' }],
      orphan: true,
      promised: true,
      kept: true,
      standing: { task: { taskId: 'n' } },
    });
    insert('tasks', 'u', { id: 'u', questions: [] });
    db.exec(`INSERT INTO tasks (id, session_id, data) VALUES ('broken', 's', '{')`);
    db.prepare(`INSERT INTO sessions VALUES ('s', ?)`).run(JSON.stringify({ wishes: { one: { logLevel: 'info' } } }));
    migrate(db, path);
    const all = (table: string): unknown[] =>
      (db.prepare(`SELECT data FROM ${table} WHERE json_valid(data) ORDER BY id`).all() as { data: string }[]).map(
        (row) => JSON.parse(row.data),
      );
    const link = { certainty: 'certain', by: { taskId: 't' } };
    expect(all('questions')).toEqual([
      { id: 'a', link, audience: 'anyone' },
      { id: 'b', link: { certainty: 'none' }, audience: 'none' },
      { id: 'c', link, audience: 'tools' },
    ]);
    expect(all('tasks')).toEqual([
      { id: 't', abandoned: true, exposed: true, native: true, checkpoint: { version: 1, task: { taskId: 'n' } } },
      { id: 'u' },
    ]);
    expect(all('sessions')).toMatchObject([{ preferences: { one: { logLevel: 'info' } } }]);
    db.close();
  });

  it('P-4, S-5: sessions get owners and views from their old fields', () => {
    const db = new Database(path);
    migrate(db, path, MIGRATIONS.slice(0, 7));
    const client = { protocolVersion: '2025-11-25', capabilities: { roots: {} }, program: 'one' };
    const put = (id: string, fields: object): void => {
      const data = JSON.stringify({ id, principal: 'ada', lastActiveAt: 7, ...fields });
      db.prepare('INSERT INTO sessions VALUES (?, ?)').run(id, data);
    };
    put('a', { client });
    put('b', { client, server: 'one' });
    put('connection:stdio', {});
    put('direct:one:ada', { server: 'one' });
    put('hub:cursor:ada', { state: 'cursor', preferences: { one: {} } });
    db.exec(`INSERT INTO sessions VALUES ('z', '{')`);
    migrate(db, path);
    const rows = db.prepare('SELECT * FROM sessions ORDER BY id').all() as { data: string; resumes: number | null }[];
    const kinds = rows.slice(0, -1).map(({ data }) => JSON.parse(data) as object);
    const [hub, one] = [{ kind: 'hub' }, { kind: 'direct', server: 'one' }];
    expect(kinds).toEqual(
      [
        { id: 'a', view: hub, owner: { kind: 'client', client } },
        { id: 'b', view: one, owner: { kind: 'client', client } },
        { id: 'connection:stdio', view: hub, owner: { kind: 'connection' } },
        { id: 'direct:one:ada', view: one, owner: { kind: 'state' } },
        { id: 'hub:cursor:ada', view: hub, owner: { kind: 'state', name: 'cursor' }, preferences: { one: {} } },
      ].map((kind) => ({ principal: 'ada', lastActiveAt: 7, ...kind })),
    );
    expect(rows.map(({ resumes }) => resumes)).toEqual([0, 1, 0, 1, 1, null]);
    expect(rows[4]).toMatchObject({ principal: 'ada', owner_kind: 'state', last_active_at: 7 });
    db.close();
  });

  it('P-4: an older store is migrated and keeps its records', async () => {
    const db = await openDatabase(path);
    db.exec(`INSERT INTO servers VALUES ('a', '{}')`);
    migrate(db, path, LATER);
    expect(schemaVersion(db)).toBe(LATER.length);
    expect(db.prepare('SELECT id FROM servers').all()).toEqual([{ id: 'a' }]);
    expect(db.prepare('SELECT x, y FROM later').all()).toEqual([]);
    db.close();
  });

  it('P-4: a failed migration is rolled back, and the error names its version', async () => {
    const db = await openDatabase(path);
    const broken = [...MIGRATIONS, 'CREATE TABLE later (x); CREATE TABLE servers (x)'];
    expect(() => migrate(db, path, broken)).toThrow(
      expect.objectContaining({
        code: 'STORE_MIGRATION_FAILED',
        message: expect.stringContaining(`schema version ${MIGRATIONS.length + 1}`),
      }),
    );
    expect(schemaVersion(db)).toBe(MIGRATIONS.length);
    migrate(db, path, LATER);
    db.close();
  });
});

describe('refusals', () => {
  const refused = (code: string, ...words: string[]) =>
    expect.objectContaining({ name: 'StoreError', code, message: expect.stringMatching(words.join('.*')) });

  it('P-4: a store of a newer version, with both versions and the fix', async () => {
    const newer = await openDatabase(path);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    await expect(openDatabase(path)).rejects.toEqual(
      refused('STORE_TOO_NEW', 'meanwhile.db', '99', `${MIGRATIONS.length}`, 'update meanwhile'),
    );
    newer.close();
  });

  it('P-4: a database of another program, which stays unchanged', async () => {
    const other = new Database(path);
    other.exec('CREATE TABLE precious (x); PRAGMA user_version = 1');
    other.close();
    const before = await readFile(path);
    await expect(openDatabase(path)).rejects.toEqual(refused('STORE_NOT_OURS', 'meanwhile.db', 'another program'));
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(folder)).toEqual(['meanwhile.db']);
  });

  it('P-4: a database of another program and its WAL file, both of which stay unchanged', async () => {
    const other = new Database(join(folder, 'other.db'));
    other.exec('PRAGMA journal_mode = WAL; CREATE TABLE precious (x); INSERT INTO precious VALUES (1)');
    await mkdir(join(folder, 'copy'));
    path = join(folder, 'copy', 'meanwhile.db');
    const files = ['', '-wal'];
    for (const end of files) await copyFile(join(folder, `other.db${end}`), path + end);
    other.close();
    const before = await Promise.all(files.map(async (end) => readFile(path + end)));
    await expect(openDatabase(path)).rejects.toEqual(refused('STORE_NOT_OURS', 'meanwhile.db', 'another program'));
    expect(await Promise.all(files.map(async (end) => readFile(path + end)))).toEqual(before);
    expect(await readdir(join(folder, 'copy'))).toEqual(['meanwhile.db', 'meanwhile.db-wal']);
  });

  it.each(['hello', 'not a database '.repeat(500)])(
    'P-4: a file that is not a database, which stays unchanged',
    async (text) => {
      await writeFile(path, text);
      await expect(openDatabase(path)).rejects.toEqual(refused('STORE_NOT_OURS', 'not a database'));
      expect(await readFile(path, 'utf8')).toBe(text);
    },
  );

  it('P-4: a damaged store', async () => {
    const db = await openDatabase(path);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    const bytes = await readFile(path);
    await writeFile(path, bytes.fill(0xff, 100));
    await expect(openDatabase(path)).rejects.toMatchObject({ name: 'StoreError' });
  });

  it('P-4: a path that cannot be a file', async () => {
    await mkdir(path);
    await expect(openDatabase(path)).rejects.toEqual(refused('STORE_UNUSABLE', 'meanwhile.db', 'another path'));
    await writeFile(join(folder, 'file'), '');
    await expect(openDatabase(join(folder, 'file', 'x.db'))).rejects.toEqual(refused('STORE_UNUSABLE', 'file'));
  });
});

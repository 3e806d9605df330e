import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import type { Interaction } from '../../../src/core/interaction/interaction.ts';
import { createTask, transition, type Task } from '../../../src/core/task/task.ts';
import { createLog } from '../../../src/lib/log.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { runCommand } from '../../support/command.ts';
import { serveProgram } from '../../support/program.ts';
import { session as storedSession } from '../../support/records.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function fill(path: string, fill: (store: SqliteStore) => void): Promise<void> {
  const store = await openSqliteStore({ path, log: createLog('silent') });
  fill(store);
  await store.close();
}

const session = (id: string, idleMs = 0) => {
  const moment = Date.now() - idleMs;
  return { ...storedSession(id), createdAt: moment, lastActiveAt: moment };
};

const working = (id: string, sessionId: string, ageMs = 0): Task =>
  createTask({ id, sessionId, server: 'one', tool: 'slow', args: {}, ttlMs: HOUR }, Date.now() - ageMs);

function ended(id: string, sessionId: string, ageMs: number, keepMs: number, result: object = { content: [] }): Task {
  const moment = { now: Date.now() - ageMs, keepMs };
  const task = transition(working(id, sessionId, ageMs), { type: 'complete', result: { ...result } }, moment);
  if (task === undefined) throw new Error('it ends');
  return task;
}

const question = (id: string, sessionId: string): Interaction => ({
  id,
  sessionId,
  server: 'one',
  kind: 'elicitation',
  params: { message: 'Who?' },
  status: 'open',
  createdAt: Date.now(),
  expiresAt: Date.now() + HOUR,
  link: { certainty: 'none' },
  audience: 'anyone',
});

const event = (id: string, sessionId: string) =>
  ({ id, sessionId, type: 'notification', server: 'one', createdAt: Date.now(), data: {} }) as const;

const ids = (path: string, table: string): string[] => {
  const db = new Database(path);
  try {
    return (db.prepare(`SELECT id FROM ${table} ORDER BY id`).all() as { id: string }[]).map(({ id }) => id);
  } finally {
    db.close();
  }
};

const linesOf = (stdout: string): { kind: string; record: Json }[] =>
  stdout.split('\n').map((line) => JSON.parse(line) as { kind: string; record: Json });

test('P-1: a store can be shown and exported while a gateway uses it, but not pruned', async () => {
  const server = owned(await startV1Http());
  const path = join(await temporaryFolder(), 'store.db');
  const config = await configFile({ one: { url: server.url } }, { store: path });
  const program = await serveProgram(['--config', config]);
  const hub = await hubOverHttp(program.url);
  const slow = await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 });
  await hub.call('execute_tool', { server: 'one', tool: 'ask' });

  const shown = await runCommand(['store', '--config', config, '--json']);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const once = { count: 1, oldest: expect.any(String), newest: expect.any(String) };
  expect(JSON.parse(shown.stdout)).toEqual({
    file: path,
    bytes: expect.any(Number),
    schemaVersion: expect.any(Number),
    usedBy: { pid: program.child.pid },
    sessions: once,
    tasks: { ...once, count: 2, byStatus: { working: 1, input_required: 1 } },
    openQuestions: once,
    undeliveredEvents: expect.objectContaining({ count: expect.any(Number) }),
    addedServers: { count: 0, oldest: null, newest: null },
  });
  const forPeople = await runCommand(['store', 'show', '--store', path]);
  expect(forPeople.stdout).toContain(path);
  expect(forPeople.stdout).toContain(`process id ${program.child.pid}`);
  expect(forPeople.stdout).toMatch(/^tasks +2 /m);
  expect(forPeople.stdout).toMatch(/^ {2}input_required +1$/m);

  const exported = await runCommand(['store', 'export', '--config', config]);
  expect(exported.code).toBe(0);
  const records = linesOf(exported.stdout);
  expect(records.find(({ kind, record }) => kind === 'task' && record['id'] === taskIdOf(slow))?.record).toMatchObject({
    status: 'working',
    tool: 'slow',
  });
  expect(records.find(({ kind }) => kind === 'question')?.record).toMatchObject({ kind: 'elicitation' });
  expect(records.find(({ kind }) => kind === 'session')?.record).toMatchObject({ id: hub.sessionId() });

  const refused = await runCommand(['store', 'prune', '--config', config]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`${path}: the gateway with process id ${program.child.pid} is using this store`);
  expect((await hub.call('list_tasks')).body['tasks']).toHaveLength(2);

  expect(await program.stop()).toBe(0);
  const later = await runCommand(['store', '--config', config, '--json']);
  expect(JSON.parse(later.stdout)).toMatchObject({ usedBy: null });
});

test('P-1: prune removes expired records and abandoned sessions, reports them and shrinks the file', async () => {
  const path = join(await temporaryFolder(), 'store.db');
  const large = 'x'.repeat(10_000);
  await fill(path, (store) => {
    for (const id of ['here', 'away', 'busy']) store.put('session', session(id, id === 'here' ? 0 : HOUR));
    store.put('task', ended('kept', 'here', 2 * MINUTE, HOUR));
    store.put('task', ended('long kept', 'here', 30 * HOUR, 1000 * HOUR));
    for (let index = 10; index < 99; index += 1) {
      store.put('task', ended(`over ${index}`, 'here', HOUR, MINUTE, { large }));
    }
    store.put('task', ended('left', 'away', 2 * MINUTE, HOUR));
    store.put('question', question('left', 'away'));
    store.put('event', event('left', 'away'));
    store.put('task', working('at work', 'busy', HOUR));
    store.put('event', event('unseen', 'busy'));
  });
  const first = await runCommand(['store', 'prune', '--store', path, '--json']);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  const report = JSON.parse(first.stdout) as { bytesBefore: number; bytesAfter: number };
  expect(report).toMatchObject({ file: path, removed: { sessions: 1, tasks: 90, questions: 1, events: 1 } });
  expect(report.bytesBefore).toBeGreaterThan(800_000);
  expect(report.bytesAfter).toBeLessThan(220_000);
  expect(ids(path, 'sessions')).toEqual(['busy', 'here']);
  expect(ids(path, 'tasks')).toEqual(['at work', 'kept', 'long kept']);
  expect(ids(path, 'events')).toEqual(['unseen']);

  const second = await runCommand(['store', 'prune', '--store', path, '--older-than', '1d']);
  expect(second.stdout).toContain('removed 0 sessions, 1 task, 0 questions, 0 events');
  expect(ids(path, 'tasks')).toEqual(['at work', 'kept']);
  // Nothing is left that would make the next start think that the last one did not end well.
  expect(ids(path, 'owner')).toEqual([]);
});

test('P-1, X-4: export hides the secrets of added servers unless a flag requests them', async () => {
  const path = join(await temporaryFolder(), 'store.db');
  const secret = 'hush-hush';
  const servers: Record<string, ServerConfig> = {
    far: { url: `http://user:${secret}@far.example/mcp?key=${secret}`, headers: { authorization: secret } },
    near: { command: 'near', args: ['--key', secret], env: { KEY: secret }, cwd: '/' },
  };
  await fill(path, (store) => {
    for (const [name, config] of Object.entries(servers)) {
      store.put('server', { id: `ada/${name}`, owner: 'ada', name, config, addedAt: 1, addedBy: 'x' });
    }
    store.put('session', { ...session('one'), key: secret });
  });
  const hidden = await runCommand(['store', 'export', '--store', path]);
  expect(hidden.stdout).not.toContain(secret);
  expect(linesOf(hidden.stdout)).toEqual([
    {
      kind: 'session',
      record: { ...session('one'), createdAt: expect.any(Number), lastActiveAt: expect.any(Number), key: '***' },
    },
    {
      kind: 'server',
      record: {
        id: 'ada/far',
        owner: 'ada',
        name: 'far',
        config: { url: 'http://far.example/mcp?key=***', headers: { authorization: '***' } },
        addedAt: 1,
        addedBy: 'x',
      },
    },
    {
      kind: 'server',
      record: {
        id: 'ada/near',
        owner: 'ada',
        name: 'near',
        config: { command: 'near', args: ['***', '***'], env: { KEY: '***' }, cwd: '/' },
        addedAt: 1,
        addedBy: 'x',
      },
    },
  ]);
  const open = await runCommand(['store', 'export', '--store', path, '--with-secrets']);
  const [ours, ...theirs] = linesOf(open.stdout);
  expect(ours).toMatchObject({ record: { key: secret } });
  expect(theirs.map(({ record }) => record['config'])).toEqual(Object.values(servers));
});

test('P-1: store commands use the store of serve, the one of stdio in this folder, or a named one', async () => {
  const home = await temporaryFolder();
  const cwd = join(home, 'project');
  await mkdir(cwd);
  const env = { HOME: home, XDG_DATA_HOME: join(home, 'data') };
  for (const flags of [[], ['--stdio']]) {
    const missing = await runCommand(['store', ...flags], { env, cwd });
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/\.db: there is no such store/);
  }
  expect(existsSync(env.XDG_DATA_HOME)).toBe(false);

  await runCommand(['stdio'], { env, cwd });
  expect((await runCommand(['store'], { env, cwd })).code).toBe(1);
  const here = await runCommand(['store', '--stdio', '--json'], { env, cwd });
  expect(JSON.parse(here.stdout)).toMatchObject({ file: expect.stringMatching(/stdio-[0-9a-f]+\.db$/), usedBy: null });
  expect((await runCommand(['store', '--stdio'], { env, cwd: home })).code).toBe(1);
});

test.each(['show', 'prune', 'export'])(
  'P-4: store %s for a missing, foreign or newer store exits with an error and changes nothing',
  async (action) => {
    const folder = await temporaryFolder();
    const text = join(folder, 'notes.txt');
    await writeFile(text, 'not a database');
    const newer = join(folder, 'newer.db');
    await fill(newer, (store) => store.put('session', session('s', 1000 * HOUR)));
    const future = new Database(newer);
    future.exec('PRAGMA user_version = 999');
    future.close();
    const before = ['newer.db', 'newer.db.lock', 'notes.txt'];
    for (const [path, about] of [
      [join(folder, 'nothing.db'), 'there is no such store'],
      [join(folder, 'no', 'folder.db'), 'there is no such store'],
      [join(text, 'below.db'), 'there is no such store'],
      [':memory:', 'only in memory'],
      [text, 'not a database'],
      [newer, 'schema version 999'],
    ] as const) {
      const { code, stdout, stderr } = await runCommand(['store', action, '--store', path]);
      expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(path);
      expect(stderr).toContain(about);
    }
    expect(ids(newer, 'sessions')).toEqual(['s']);
    const parts = async (): Promise<string[]> => (await readdir(folder)).filter((name) => !/-(wal|shm)$/.test(name));
    expect(await parts()).toEqual(before);
  },
);

test('P-4: a store of an older version is shown and exported without a migration', async () => {
  const path = join(await temporaryFolder(), 'store.db');
  await fill(path, (store) => store.put('task', ended('old', 's', 0, HOUR)));
  const older = new Database(path);
  older.exec('DROP INDEX tasks_by_end; ALTER TABLE tasks DROP COLUMN keep_until; DROP TABLE owner');
  older.exec('PRAGMA user_version = 1');
  older.close();
  const shown = await runCommand(['store', '--store', path, '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({ schemaVersion: 1, tasks: { count: 1, byStatus: { completed: 1 } } });
  const exported = await runCommand(['store', 'export', '--store', path]);
  expect(linesOf(exported.stdout)).toMatchObject([{ kind: 'task', record: { id: 'old' } }]);
  const again = await runCommand(['store', '--store', path, '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ schemaVersion: 1 });
});

test.each([
  [['store', 'burn'], 'show|prune|export'],
  [['store', 'show', 'more'], 'show|prune|export'],
  [['store', '--older-than', '1d'], '--older-than does not apply to store show'],
  [['store', 'prune', '--with-secrets'], '--with-secrets does not apply to store prune'],
  [['store', 'prune', '--older-than', 'soon'], '--older-than: expected a time'],
  [['store', 'prune', '--older-than', '7'], "--older-than: expected a time with its unit, as in 12h or 7d, got '7'"],
  [['store', '--stdio', '--store', 'x.db'], '--stdio and --store exclude each other'],
  [['store', '--port', '1'], "Unknown option '--port'"],
])('P-1: %j is wrong usage', async (args, about) => {
  const { code, stderr } = await runCommand(args);
  expect(code).toBe(2);
  expect(stderr).toContain(about);
  expect(stderr).toContain('meanwhile store --help');
});

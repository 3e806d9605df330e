import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTask, transition, type Task } from '../../core/task/task.ts';
import { createLog } from '../../lib/log.ts';
import { session as record } from '../../../tests/support/records.ts';
import { openSqliteStore, type SqliteStore } from './store.ts';

let folder: string;
let path: string;
let store: SqliteStore;
let logged: string[];

const open = (maxBytes?: number) =>
  openSqliteStore({ path, log: createLog('debug', (line) => logged.push(line)), ...(maxBytes && { maxBytes }) });
const look = () => openSqliteStore({ path, log: createLog('silent'), shared: true });
const SERVER = { id: 'x', owner: 'local', name: 'x', config: { url: 'http://x/' }, addedAt: 1, addedBy: 's' };
const turn = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(async () => {
  logged = [];
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-sqlite-'));
  path = join(folder, 'meanwhile.db');
  store = await open();
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

/** How many transactions the log of the database holds: the last frame of each carries the size of the database. */
async function commits(): Promise<number> {
  if (!existsSync(`${path}-wal`)) return 0;
  const wal = await readFile(`${path}-wal`);
  if (wal.length === 0) return 0;
  const frame = 24 + wal.readUInt32BE(8);
  let count = 0;
  for (let at = 32; at + frame <= wal.length; at += frame) {
    if (wal.readUInt32BE(at + 4) !== 0) count++;
  }
  return count;
}

/** Makes every insert of a session fail, as a full disk would, until the returned function is called. */
function breakWrites(): () => void {
  const other = new Database(path);
  other.exec(`CREATE TRIGGER broken BEFORE INSERT ON sessions BEGIN SELECT RAISE(FAIL, 'no space left'); END`);
  return () => {
    other.exec('DROP TRIGGER broken');
    other.close();
  };
}

it('P-1: settled records are there after reopening', async () => {
  store.put('session', record('s'));
  await store.settled();
  await store.close();
  store = await open();
  expect(await store.all('session')).toEqual([record('s')]);
});

it('P-2: settled records are visible to another connection before a close', async () => {
  store.put('session', record('s'));
  await store.settled();
  const other = await look();
  expect(await other.all('session')).toEqual([record('s')]);
  await other.close();
});

it('P-1: close writes queued records and leaves no WAL file behind', async () => {
  store.put('session', record('s'));
  await store.close();
  const wal = await stat(`${path}-wal`).catch(() => ({ size: 0 }));
  expect(wal.size).toBe(0);
  store = await open();
  expect(await store.all('session')).toHaveLength(1);
});

it('P-3: the changes of one turn are one transaction', async () => {
  const before = await commits();
  for (let i = 0; i < 100; i++) store.put('session', record(`s${i}`));
  store.drop('session', 's5');
  await store.settled();
  expect(await commits()).toBe(before + 1);
  store.put('session', record('later'));
  await store.settled();
  expect(await commits()).toBe(before + 2);
});

it('P-3: queued records are written without a call of settled', async () => {
  const before = await commits();
  store.put('session', record('s'));
  await turn();
  expect(await commits()).toBe(before + 1);
});

it('P-3: a record that is dropped in the turn it was put in is never written', async () => {
  const before = await commits();
  store.put('server', SERVER);
  store.drop('server', 'x');
  await store.settled();
  expect(await commits()).toBe(before);
});

it('H-4: with nothing queued, settled touches no file', async () => {
  store.put('session', record('s'));
  await store.settled();
  const look = async () => {
    const files = await Promise.all(['', '-wal'].map((end) => stat(path + end)));
    return files.map(({ size, mtimeMs }) => ({ size, mtimeMs }));
  };
  const before = await look();
  const idle = store.settled();
  for (let i = 0; i < 100; i++) expect(store.settled()).toBe(idle);
  await turn();
  expect(await look()).toEqual(before);
});

it('P-3: a failed write rejects settled, is logged once, and is repeated later', async () => {
  const repair = breakWrites();
  store.put('session', record('a'));
  await expect(store.settled()).rejects.toMatchObject({ name: 'StoreError', code: 'STORE_WRITE_FAILED' });
  await expect(store.settled()).rejects.toThrow('no space left');
  store.put('session', record('b'));
  await turn();
  expect(logged.filter((line) => line.includes('store_write_failed'))).toHaveLength(1);
  repair();
  await store.settled();
  expect((await store.all('session')).map(({ id }) => id)).toEqual(['a', 'b']);
  expect(logged.at(-1)).toContain('store_write_recovered');
});

it('P-3: a failed write is rolled back completely', async () => {
  const repair = breakWrites();
  store.put('server', SERVER);
  store.put('session', record('a'));
  await expect(store.settled()).rejects.toThrow();
  const other = await look();
  expect(await other.all('server')).toEqual([]);
  await other.close();
  repair();
  await store.settled();
  expect(await store.all('server')).toHaveLength(1);
});

it('P-3: a failed write that is not awaited causes no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const repair = breakWrites();
  store.put('session', record('a'));
  await turn();
  void store.settled();
  await turn();
  await turn();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
  repair();
});

it('P-3: a write to a locked file is retried without blocking the event loop', async () => {
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  store.put('session', record('a'));
  let written = false;
  const settled = store.settled().then(() => {
    written = true;
  });
  const begun = Date.now();
  let turns = 0;
  for (; Date.now() - begun < 300; turns++) await turn();
  expect(turns).toBeGreaterThan(100);
  expect(written).toBe(false);
  // Whoever reads what is queued waits with it.
  const read = store.all('session');
  other.exec('ROLLBACK');
  other.close();
  await settled;
  expect(await read).toEqual([record('a')]);
  expect(logged).toEqual([]);
});

it('P-3: a store that stays locked fails with an error, and recovers when the lock is released', async () => {
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  store.put('session', record('a'));
  await expect(store.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
  // From then on nobody is kept waiting.
  await expect(store.settled()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
  other.exec('ROLLBACK');
  await expect.poll(() => other.prepare('SELECT id FROM sessions').all(), { timeout: 5000 }).toEqual([{ id: 'a' }]);
  other.close();
  expect(logged.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
    'store_write_failed',
    'store_write_recovered',
  ]);
});

it('H-4: a session can be claimed and released while records of another session cannot be written', async () => {
  const failing = await store.claim('failing');
  const mend = breakWrites();
  failing?.put('session', record('failing'));
  await expect(failing?.settled()).rejects.toThrow('no space left');
  const other = await store.claim('other');
  expect(other).toBeDefined();
  await other?.release();
  mend();
});

it('H-4: a session can be claimed and released at once while the file is locked', async () => {
  const lock = new Database(path);
  lock.exec('BEGIN IMMEDIATE');
  const waiting = await store.claim('waiting');
  waiting?.put('session', record('waiting'));
  let stored = false;
  const settled = waiting?.settled().then(() => (stored = true));
  const other = await store.claim('other');
  expect(other).toBeDefined();
  await other?.release();
  expect(stored).toBe(false);
  lock.exec('ROLLBACK');
  lock.close();
  await settled;
});

it('P-3: a record that cannot be stored is reported even if the file was locked at first', async () => {
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  const endless: Record<string, unknown> = {};
  endless['self'] = endless;
  const task = createTask({ id: 't', sessionId: 's', server: 'a', tool: 'b', args: endless, ttlMs: 1 }, 1);
  store.put('task', task);
  store.put('session', record('a'));
  const settled = store.settled();
  await turn();
  await turn();
  other.exec('ROLLBACK');
  other.close();
  await expect(settled).rejects.toThrow('task t cannot be stored');
  expect(await store.all('session')).toHaveLength(1);
});

it('P-3: close fails if the last write failed', async () => {
  const repair = breakWrites();
  store.put('session', record('a'));
  await expect(store.close()).rejects.toMatchObject({ code: 'STORE_WRITE_FAILED' });
  repair();
  store = await open();
});

/** As many sessions as fill several pages. */
async function filled(): Promise<void> {
  for (let i = 0; i < 500; i++) store.put('session', record(`session ${i}`));
  await store.settled();
}

async function keptAside(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^meanwhile\.db\.damaged-[\dTZ-]+$/.test(name));
}

it('P-4: a truncated store is set aside and reported, and a new one is created', async () => {
  await filled();
  await store.close();
  const whole = await readFile(path);
  await writeFile(path, whole.subarray(0, whole.length / 2));
  store = await open();
  expect(await store.all('session')).toEqual([]);
  const [aside = ''] = await keptAside();
  expect(await readFile(join(folder, aside))).toEqual(whole.subarray(0, whole.length / 2));
  expect(logged.join('\n')).toContain('store_damaged');
  expect(logged.join('\n')).toContain(aside);
});

it('P-4: a store with garbage after an unclean end is set aside', async () => {
  await filled();
  await store.close();
  const signed = new Database(path);
  signed.exec('INSERT INTO owner (id, pid) VALUES (1, 1)');
  signed.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  signed.close();
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0xff, bytes.length / 2));
  store = await open();
  expect(await store.all('session')).toEqual([]);
  expect(await keptAside()).toHaveLength(1);
});

it('P-1: a second store on the same file is refused with the ID of the process, and reading is allowed', async () => {
  await expect(open()).rejects.toMatchObject({
    code: 'STORE_IN_USE',
    message: expect.stringContaining(`(process ${process.pid})`),
  });
  const looking = await look();
  await looking.close();
  await store.close();
  store = await open();
});

it('T-2: overdue tasks of all sessions are deleted', async () => {
  const now = 1000;
  const task = (id: string, sessionId: string): Task =>
    createTask({ id, sessionId, server: 'a', tool: 'b', args: {}, ttlMs: 1 }, now);
  const ended = (id: string, sessionId: string, keepMs: number): Task =>
    transition(task(id, sessionId), { type: 'complete', result: {} }, { now, keepMs }) ?? task(id, sessionId);
  for (const each of [ended('over', 'a', 10), ended('kept', 'b', 100), task('working', 'c')]) store.put('task', each);
  await store.dropOverdue(now + 50);
  expect((await store.all('task')).map(({ id }) => id)).toEqual(['kept', 'working']);
});

it('P-3: a store whose file was deleted reports that, and not damage', async () => {
  store.put('session', record('a'));
  await store.settled();
  await rm(path);
  expect(store.problem).toBe('gone');
  store.put(
    'task',
    createTask({ id: 't', sessionId: 'a', server: 'a', tool: 'b', args: {}, ttlMs: 1 }, Date.now() + 1),
  );
  await expect(store.settled()).rejects.toMatchObject({
    code: 'STORE_GONE',
    message: expect.stringContaining('was deleted while it was in use; restart the gateway'),
  });
});

const MEGABYTE = 2 ** 20;

/** A task of so many bytes, which counts how often it is serialized. */
function largeTask(id: string, sessionId: string, bytes: number): { task: Task; serialized: () => number } {
  let times = 0;
  const text = {
    toJSON: () => {
      times += 1;
      return 'x'.repeat(bytes);
    },
  };
  const task = createTask({ id, sessionId, server: 'a', tool: 'b', args: { text }, ttlMs: 1 }, 1);
  return { task, serialized: () => times };
}

async function full(): Promise<void> {
  await store.close();
  store = await open(2 * MEGABYTE);
}

it('X-3, P-3: a record that does not fit does not block records of other sessions', async () => {
  await full();
  store.put('session', record('a'));
  store.put('task', largeTask('t', 'a', 3 * MEGABYTE).task);
  store.put('session', record('b'));
  store.put('task', largeTask('u', 'b', 1000).task);
  const own = store.settled('a');
  await store.settled('b');
  await expect(own).rejects.toMatchObject({
    code: 'STORE_WRITE_FAILED',
    message: expect.stringContaining('storeBytes'),
  });
  // It is not forgotten: its own session is not told that it is stored.
  await expect(store.settled('a')).rejects.toThrow('storeBytes');
  await expect(store.settled()).rejects.toThrow('storeBytes');
  await store.settled('b');
  const other = await look();
  expect((await other.all('session')).map(({ id }) => id)).toEqual(['a', 'b']);
  expect((await other.all('task')).map(({ id }) => id)).toEqual(['u']);
  await other.close();
  store.drop('task', 't');
  await store.settled();
});

it('X-3: records that do not fit are not serialized again with each write', async () => {
  await full();
  const tasks = Array.from({ length: 20 }, (_, n) => largeTask(`t${n}`, 'a', 3 * MEGABYTE));
  for (const { task } of tasks) store.put('task', task);
  await expect(store.settled('a')).rejects.toThrow();
  for (let n = 0; n < 50; n++) {
    store.put('session', record(`s${n}`));
    for (const { task } of tasks) store.put('task', { ...task, statusMessage: `step ${n}` });
    await store.settled(`s${n}`);
  }
  for (const { serialized } of tasks) expect(serialized()).toBeLessThan(10);
  for (const { task } of tasks) store.drop('task', task.id);
});

/** Waits until what did not fit is written. */
async function storedAtLast(): Promise<void> {
  const outcome = (): Promise<string> =>
    store.settled().then(
      () => 'stored',
      () => 'not yet',
    );
  await expect.poll(outcome, { timeout: 5000 }).toBe('stored');
}

it('X-3, P-3: a record that did not fit is written when there is room', async () => {
  await full();
  store.put('task', largeTask('first', 'a', MEGABYTE).task);
  await store.settled();
  store.put('task', largeTask('second', 'a', MEGABYTE).task);
  await expect(store.settled()).rejects.toThrow('storeBytes');
  store.drop('task', 'first');
  await storedAtLast();
  expect((await store.all('task')).map(({ id }) => id)).toEqual(['second']);
  expect(logged.at(-1)).toContain('store_write_recovered');
});

it('X-3: deleting an overdue task makes room for a record that did not fit', async () => {
  await full();
  const { task } = largeTask('over', 'a', MEGABYTE);
  const ended = transition(task, { type: 'complete', result: {} }, { now: 1, keepMs: 1 }) ?? task;
  store.put('task', ended);
  await store.settled();
  store.put('task', largeTask('second', 'b', MEGABYTE).task);
  await expect(store.settled('b')).rejects.toThrow('storeBytes');
  await store.dropOverdue(1000);
  await storedAtLast();
});

it.each([
  ['invalid JSON', '{"id":'],
  ['not an object', '[]'],
  ['incomplete', '{"id":"bad"}'],
])('P-4: a record that is %s is set aside and reported, and other records are kept', async (_what, data) => {
  store.put('session', record('good'));
  await store.close();
  const db = new Database(path);
  db.prepare(`INSERT INTO sessions (id, data) VALUES ('bad', ?)`).run(data);
  db.close();
  logged = [];
  store = await open();
  expect(await store.all('session')).toEqual([record('good')]);
  expect(logged.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({
      level: 'error',
      event: 'record_set_aside',
      data: expect.objectContaining({ kind: 'session', id: 'bad' }),
    }),
  );
  const looked = new Database(path, { readonly: true });
  expect(looked.prepare('SELECT kind, id, data FROM set_aside').all()).toEqual([{ kind: 'session', id: 'bad', data }]);
  looked.close();
  logged = [];
  expect(await store.all('session')).toHaveLength(1);
  expect(logged).toEqual([]);
});

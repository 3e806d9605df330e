import { mkdtemp, open as openFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { StoredSession } from '../../core/ports/store.ts';
import { createTask, type Task } from '../../core/task/task.ts';
import { createLog } from '../../lib/log.ts';
import { session } from '../../../tests/support/records.ts';
import { openSqliteStore, type SqliteStore } from './store.ts';

let folder: string;
let path: string;
let logged: { event: string }[];

beforeEach(async () => {
  logged = [];
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-damage-'));
  path = join(folder, 'meanwhile.db');
});
afterEach(() => rm(folder, { recursive: true }));

const open = () =>
  openSqliteStore({ path, log: createLog('debug', (line) => logged.push(JSON.parse(line) as { event: string })) });

const task = (id: string, createdAt: number): Task =>
  createTask({ id, sessionId: 's', server: 'one', tool: 'slow', args: {}, ttlMs: 1000 }, createdAt);

const times = (event: string): number => logged.filter((line) => line.event === event).length;

/** Overwrites what the store looks up first in a table or an index. */
async function damage(name: string): Promise<void> {
  const db = new Database(path, { readonly: true });
  const row = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name) as { rootpage: number };
  db.close();
  const file = await openFile(path, 'r+');
  await file.write(Buffer.alloc(4096, 0xff), 0, 4096, (row.rootpage - 1) * 4096);
  await file.close();
}

async function damagedStore(name: string): Promise<Awaited<ReturnType<typeof open>>> {
  const first = await open();
  first.put('session', session('s'));
  await first.close();
  await damage(name);
  return open();
}

/** Reads a session, its questions among the rest. */
async function contentsOf(store: SqliteStore): Promise<StoredSession | undefined> {
  const claimed = await store.claim('s');
  try {
    return await claimed?.load();
  } finally {
    await claimed?.release();
  }
}

const DAMAGED = { name: 'StoreError', code: 'STORE_DAMAGED', message: expect.stringContaining('restart the gateway') };

it('P-4: damage found while reading is logged once, and the file is set aside at the next start', async () => {
  const store = await damagedStore('questions_by_session');
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(contentsOf(store)).rejects.toMatchObject(DAMAGED);
  }
  expect(times('store_damaged')).toBe(1);
  await store.close();
  await (await open()).close();
  expect((await readdir(folder)).some((name) => name.includes('.damaged-'))).toBe(true);
});

it('P-3: after damage was found, storing a new task fails once, and all records are written', async () => {
  const store = await damagedStore('questions_by_session');
  const before = task('before', Date.now() - 1);
  store.put('task', before);
  await store.settled();
  await expect(contentsOf(store)).rejects.toMatchObject(DAMAGED);

  store.put('task', task('new', Date.now()));
  await expect(store.settled()).rejects.toMatchObject(DAMAGED);
  store.put('task', { ...before, statusMessage: 'half' });
  store.put('task', { ...task('new', Date.now()), statusMessage: 'half' });
  store.put('session', session('other'));
  await store.settled();
  expect((await store.all('task')).map(({ id }) => id)).toEqual(['before', 'new']);
  await store.close();
});

it('P-4: damage found while writing is reported and logged, and the file is set aside at the next start', async () => {
  const store = await damagedStore('tasks');
  store.put('task', task('t', Date.now()));
  await expect(store.settled()).rejects.toMatchObject(DAMAGED);
  expect(times('store_damaged')).toBe(1);
  await store.close();
  const again = await open();
  expect(await again.all('session')).toEqual([]);
  await again.close();
  expect((await readdir(folder)).some((name) => name.includes('.damaged-'))).toBe(true);
});

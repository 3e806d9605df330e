import { spawn } from 'node:child_process';
import { chmod, mkdir, open, readFile, readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test, vi } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { configFile, temporaryFolder } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { logged, logLines, runProgram, serveProgram, startProgram } from '../../support/program.ts';
import { rawSession, send } from '../../support/raw-http.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';
import { begin, kill, killable, rows } from './killable.ts';

const SLOW = { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 };
const ECHO = { server: 'one', tool: 'echo', args: { text: 'fast' } };

async function setup(): Promise<{ server: V1Http; folder: string; store: string; config: string }> {
  const server = owned(await startV1Http());
  const folder = await temporaryFolder();
  const store = join(folder, 'store.db');
  return { server, folder, store, config: await configFile({ one: { url: server.url } }, { store }) };
}

test.each([
  ['truncated', async (store: string) => truncate(store, (await stat(store)).size / 2)],
  ['overwritten', async (store: string) => overwrite(store, 4096)],
  ['without a head', async (store: string) => overwrite(store, 100)],
])('P-4, P-2: a store that was %s is put aside as a whole, and the gateway starts', async (_how, damage) => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const session = await rawSession(gateway.url);
  for (let round = 0; round < 5; round += 1) {
    await begin(session, 'one', 'slow', { ms: 60_000, text: 'x'.repeat(5000) }, { timeout_ms: 1 });
  }
  await kill(gateway);
  // All of it into the one file, as if the log had been lost with the rest.
  const db = new Database(gateway.store);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  await damage(gateway.store);
  const damaged = await readFile(gateway.store);
  await gateway.start();

  const line = gateway.log.find((text) => text.includes('"store_damaged"')) ?? '';
  const { level, data } = JSON.parse(line.slice(line.indexOf('{'))) as { level: string; data: { keptAs: string } };
  expect(level).toBe('error');
  expect((await readFile(data.keptAs)).equals(damaged)).toBe(true);
  const fresh = await rawSession(gateway.url);
  expect((await fresh.reply('execute_tool', ECHO)).text).toBe('fast');
  const { id } = await begin(fresh, 'one', 'slow', { ms: 60_000 });
  expect(rows(gateway.store, 'tasks').map((row) => row['id'])).toEqual([id]);
});

async function overwrite(path: string, from: number): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc((await file.stat()).size - from, 0xff), 0, undefined, from);
  await file.close();
}

test('P-4, P-2: a kill during a checkpoint of the write-ahead log does not damage the store', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const session = await rawSession(gateway.url);
  const begun: string[] = [];
  for (let round = 0; round < 5; round += 1) {
    begun.push((await begin(session, 'one', 'slow', { ms: 60_000, text: 'x'.repeat(5000) }, { timeout_ms: 1 })).id);
  }
  await kill(gateway);
  const [before, log] = [await readFile(gateway.store), await readFile(`${gateway.store}-wal`)];
  const db = new Database(gateway.store);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  // The first page has been moved, and tells of others that have not.
  const page = (await readFile(gateway.store)).subarray(0, 4096);
  await writeFile(gateway.store, Buffer.concat([page, before.subarray(4096)]));
  await writeFile(`${gateway.store}-wal`, log);
  await gateway.start();
  expect(gateway.log.join('\n')).not.toContain('store_damaged');
  expect(rows(gateway.store, 'tasks').map((row) => row['id'])).toEqual(begun);
});

test('P-4: a store path that cannot be written is a clear error', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'file'), '');
  const places = [join(folder, 'file', 'store.db')];
  // To the superuser nothing is read-only.
  if (process.getuid?.() !== 0) {
    await mkdir(join(folder, 'locked'));
    await chmod(join(folder, 'locked'), 0o500);
    places.push(join(folder, 'locked', 'store.db'));
  }
  for (const store of places) {
    const { code, stderr } = await runProgram(['serve', '--port', '0', '--store', store]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${store}: the store cannot be opened`);
    expect(stderr).toContain('check that the folder exists and is writable');
    expect(stderr).not.toContain('at Object');
  }
});

test('P-4: a store of a newer version is refused and stays unchanged', async () => {
  const { config, store } = await setup();
  const program = await serveProgram(['--config', config]);
  await rawSession(program.url);
  expect(await program.stop()).toBe(0);
  const future = new Database(store);
  future.exec('PRAGMA user_version = 999; PRAGMA wal_checkpoint(TRUNCATE)');
  future.close();
  const before = await readFile(store);
  const refused = await runProgram(['serve', '--config', config]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('schema version 999');
  expect(refused.stderr).toContain('update meanwhile');
  expect((await readFile(store)).equals(before)).toBe(true);
  expect((await readdir(join(store, '..'))).filter((name) => name.includes('damaged'))).toEqual([]);
});

test('P-3, H-4: a store locked by another program delays only the calls that write to it', async () => {
  const { config, store } = await setup();
  const program = await serveProgram(['--config', config]);
  const [one, two] = [await rawSession(program.url), await rawSession(program.url)];
  await one.reply('list_tools');
  await two.reply('list_tools');
  const other = new Database(store);
  defer(async () => void other.close());
  await expect.poll(() => other.prepare('SELECT id FROM events').all()).toEqual([]);

  other.exec('BEGIN IMMEDIATE');
  const waiting = { over: false };
  const promoted = one.reply('execute_tool', SLOW).finally(() => {
    waiting.over = true;
  });
  let answered = 0;
  while (!waiting.over) {
    expect((await two.reply('execute_tool', ECHO)).text).toBe('fast');
    answered += 1;
  }
  expect((await promoted).code).toBe('TOOL_ERR_STORE');
  expect((await promoted).text).toContain('could not be written');
  // One after the other while the first client waited: they did not wait with it.
  expect(answered).toBeGreaterThan(10);
  // Also once it is known that the store fails.
  expect((await one.reply('execute_tool', ECHO)).text).toBe('fast');
  expect((await send(`${new URL(program.url).origin}/readyz`, { method: 'GET' })).status).toBe(503);
  expect(logLines(program).map(({ event }) => event)).toContain('store_write_failed');

  other.exec('ROLLBACK');
  // Nobody asks for it.
  await logged(program, 'store_write_recovered');
  expect(other.prepare('SELECT id FROM tasks').all()).toHaveLength(1);
  const { events } = await one.reply('list_servers');
  expect(events.map(({ type }) => type)).toContain('task_created');
  expect((await one.reply('list_tasks')).body['tasks']).toHaveLength(1);
  expect((await two.reply('execute_tool', SLOW)).isError).toBe(false);
});

test('P-3: a gateway that stops while the store is locked briefly still writes its records', async () => {
  const { server, config, store } = await setup();
  const program = await serveProgram(['--config', config]);
  const session = await rawSession(program.url);
  await session.reply('list_tools');
  const other = new Database(store);
  defer(async () => void other.close());
  await expect.poll(() => other.prepare('SELECT id FROM events').all()).toEqual([]);
  other.exec('BEGIN IMMEDIATE');
  const promoted = session.reply('execute_tool', SLOW).catch(() => undefined);
  await logged(program, 'tool_execution_timeout');
  expect(server.state.calls).toHaveLength(1);
  program.child.kill('SIGTERM');
  await logged(program, 'stopping');
  other.exec('ROLLBACK');
  expect(await program.exited).toBe(0);
  await promoted;
  expect(other.prepare('SELECT id FROM tasks').all()).toHaveLength(1);
  expect(other.prepare('SELECT id FROM owner').all()).toEqual([]);
});

/** The system lets no file of the program grow beyond a size, as a full disk would. */
async function serveWithin(kilobytes: number, config: string): Promise<{ url: string }> {
  const home = await temporaryFolder();
  const command = `ulimit -f ${kilobytes * 2} && exec "$0" "$@"`;
  const child = spawn('sh', ['-c', command, process.execPath, QUICK_PROGRAM, 'serve', '--config', config], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise((resolve) => {
    child.once('close', resolve);
  });
  defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return vi.waitFor(
    () => {
      const [, url] = /"url":"([^"]+)"/.exec(text) ?? [];
      if (url === undefined) throw new Error(text);
      return { url };
    },
    { timeout: 15_000 },
  );
}

test.skipIf(process.platform === 'win32')(
  'P-3, H-4: on a full disk fast calls work, unstored tasks are refused and no reported task is lost',
  async () => {
    const { config, store } = await setup();
    const { url } = await serveWithin(400, config);
    const session = await rawSession(url);
    const text = 'x'.repeat(20_000);
    const told: string[] = [];
    let code: string | undefined;
    for (let round = 0; round < 60 && code === undefined; round += 1) {
      const reply = await session.reply('execute_tool', { ...SLOW, args: { ms: 60_000, text } });
      code = reply.code;
      if (!reply.isError) told.push(taskIdOf(reply));
    }
    expect(code).toBe('TOOL_ERR_STORE');
    expect(told.length).toBeGreaterThan(0);
    expect((await session.reply('execute_tool', ECHO)).text).toBe('fast');
    expect((await session.reply('execute_tool', SLOW)).code).toBe('TOOL_ERR_STORE');
    expect((await session.reply('execute_tool', ECHO)).text).toBe('fast');
    expect(rows(store, 'tasks').map((row) => row['id'])).toEqual(expect.arrayContaining(told));
  },
);

test('P-4: a missing folder of the store is created', async () => {
  const folder = await temporaryFolder();
  const store = join(folder, 'new', 'deeper', 'store.db');
  const program = await startProgram(['serve', '--port', '0', '--store', store]);
  await logged(program, 'listening');
  expect((await stat(store)).isFile()).toBe(true);
});

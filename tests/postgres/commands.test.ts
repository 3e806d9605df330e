/** `meanwhile store` on PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ClaimedSession } from '../../src/core/ports/store.ts';
import { createTask, transition, type Task } from '../../src/core/task/task.ts';
import { createLog } from '../../src/lib/log.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { MIGRATIONS } from '../../src/store/postgres/schema.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/store.ts';
import { callLine } from '../contract/audit.contract.ts';
import { runCommand } from '../support/command.ts';
import { configFile } from '../support/gateway.ts';
import { owned } from '../support/owned.ts';
import { event, question, server as serverRecord, session as storedSession } from '../support/records.ts';
import { PostgresServer } from './server.ts';

const HOUR = 3_600_000;

let server: PostgresServer;
let admin: Database;

beforeAll(async () => {
  server = await PostgresServer.start();
  admin = await Database.open(server.url());
}, 120_000);
afterAll(async () => {
  await admin.close();
  await server.remove();
});
beforeEach(async () => {
  await admin.script('DROP SCHEMA IF EXISTS meanwhile CASCADE');
});

const open = async (): Promise<PostgresStore> =>
  owned(await openPostgresStore({ url: server.url(), log: createLog('silent'), leaseMs: 120_000 }));

async function claim(store: PostgresStore, id: string, idleMs = 0): Promise<ClaimedSession> {
  const claimed = await store.claim(id);
  if (claimed === undefined) throw new Error(`session ${id} is claimed already`);
  const moment = Date.now() - idleMs;
  claimed.put('session', { ...storedSession(id), createdAt: moment, lastActiveAt: moment });
  return claimed;
}

const working = (id: string, sessionId: string, ageMs = 0): Task =>
  createTask({ id, sessionId, server: 'one', tool: 'slow', args: {}, ttlMs: HOUR }, Date.now() - ageMs);

function ended(id: string, sessionId: string, ageMs: number, keepMs: number): Task {
  const moment = { now: Date.now() - ageMs, keepMs };
  const task = transition(working(id, sessionId, ageMs), { type: 'complete', result: { content: [] } }, moment);
  if (task === undefined) throw new Error('it ends');
  return task;
}

const ids = async (table: string): Promise<unknown[]> =>
  (await admin.run(`SELECT id FROM meanwhile.${table} ORDER BY id`)).map(({ id }) => id);

const name = (): string => `postgres://127.0.0.1:${server.port}/postgres`;

async function storeCommand(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const ran = await runCommand(['store', ...args, '--store', server.url()]);
  expect(ran.stdout + ran.stderr).not.toContain('hunter2');
  return ran;
}

test('K-1, P-1: `store` shows the database, its gateways and the number of records', async () => {
  const [one, other] = [await open(), await open()];
  await one.cluster.announce('http://gateway-1:8080');
  const claimed = await claim(one, 's');
  claimed.put('task', working('t', 's'));
  claimed.put('task', ended('done', 's', 0, HOUR));
  claimed.put('question', question('q', 's'));
  claimed.put('question', { ...question('answered', 's'), status: 'accepted', answer: { action: 'accept' } });
  claimed.put('event', event('e', 's'));
  one.putServer(serverRecord('a'));
  await one.settled();

  const file = await configFile({}, { store: `postgres://ann:\${PGPASSWORD}@127.0.0.1:${server.port}/postgres` });
  const shown = await runCommand(['store', '--json', '--config', file], { env: { PGPASSWORD: 'hunter2' } });
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  const some = (count: number) => ({ count, oldest: expect.any(String), newest: expect.any(String) });
  expect(JSON.parse(shown.stdout)).toEqual({
    database: name(),
    bytes: expect.any(Number),
    schemaVersion: MIGRATIONS.length,
    gateways: [
      { id: one.cluster.gatewayId, address: 'http://gateway-1:8080', renewedMsAgo: expect.any(Number) },
      { id: other.cluster.gatewayId, address: null, renewedMsAgo: expect.any(Number) },
    ],
    sessions: some(1),
    tasks: { ...some(2), byStatus: { completed: 1, working: 1 } },
    openQuestions: some(1),
    undeliveredEvents: some(1),
    addedServers: some(1),
  });
  const { stdout } = await storeCommand();
  expect(stdout).toContain(name());
  expect(stdout).toMatch(/^used by +http:\/\/gateway-1:8080 \(lease renewed \d+s ago\)$/m);
  expect(stdout).toMatch(/^ +gateway \S+, without an address \(lease renewed \d+s ago\)$/m);
  expect(stdout).toMatch(/^tasks +2 /m);
  await one.close();
  await other.close();
  expect((await storeCommand()).stdout).toMatch(/^used by +no gateway$/m);
});

test('K-1, P-1: `store prune` deletes expired records beside running gateways, but not those of their sessions', async () => {
  const store = await open();
  const fill = async (id: string, idleMs: number, ...tasks: Task[]): Promise<ClaimedSession> => {
    const claimed = await claim(store, id, idleMs);
    for (const task of tasks) claimed.put('task', task);
    claimed.put('event', event(`event of ${id}`, id));
    return claimed;
  };
  const over = Array.from({ length: 3 }, (_, index) => ended(`over ${index}`, 'here', HOUR, 1));
  await (await fill('here', 0, ended('kept', 'here', HOUR, 9 * HOUR), ...over)).release();
  const away = await fill('away', 9 * HOUR, ended('left', 'away', 2 * HOUR, 9 * HOUR));
  away.put('question', question('asked', 'away'));
  await away.release();
  await (await fill('busy', 9 * HOUR, working('at work', 'busy'))).release();
  const held = await fill('held', 9 * HOUR, ended('held and over', 'held', HOUR, 1));
  await held.settled();

  const first = await storeCommand('prune', '--json');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(first.stdout)).toEqual({
    database: name(),
    removed: { sessions: 1, tasks: 4, questions: 1, events: 1 },
    bytesBefore: expect.any(Number),
    bytesAfter: expect.any(Number),
  });
  expect(await ids('sessions')).toEqual(['busy', 'held', 'here']);
  expect(await ids('tasks')).toEqual(['at work', 'held and over', 'kept']);
  // It leaves no trace of itself.
  expect(await admin.run('SELECT gateway FROM meanwhile.leases')).toEqual([{ gateway: store.cluster.gatewayId }]);
  expect(await admin.run('SELECT session_id FROM meanwhile.claims')).toEqual([{ session_id: 'held' }]);

  const second = await storeCommand('prune', '--older-than', '30m');
  expect(second.stdout).toContain('removed 0 sessions, 1 task, 0 questions, 0 events');
  expect(await ids('tasks')).toEqual(['at work', 'held and over']);
  held.drop('task', 'held and over');
  await held.settled();
});

test('K-1, P-1: `store export` writes all records in pages, with secrets only on request', async () => {
  const store = await open();
  const claimed = await claim(store, 's');
  const large = { text: 'x'.repeat(3 * 1024 * 1024) };
  for (const id of ['a', 'b', 'c']) claimed.put('event', { ...event(id, 's'), data: large });
  const server = { ...serverRecord('a'), config: { url: 'http://x/', headers: { Authorization: 'Bearer swordfish' } } };
  store.putServer(server);
  await store.settled();
  await admin.run(`INSERT INTO meanwhile.tasks SELECT 't' || n, 's', '{"id":"t' || n || '","n":12345678901234567890}', 1
    FROM generate_series(1, 1200) n`);
  const { code, stdout } = await storeCommand('export');
  expect(code).toBe(0);
  expect(stdout).not.toContain('swordfish');
  const kinds = stdout.split('\n').map((line) => (JSON.parse(line) as { kind: string }).kind);
  const counts = Object.fromEntries(
    [...new Set(kinds)].map((kind) => [kind, kinds.filter((each) => each === kind).length]),
  );
  expect(counts).toEqual({ session: 1, server: 1, task: 1200, event: 3 });
  expect(stdout).toContain('{"kind":"task","record":{"id":"t7","n":12345678901234567890}}');
  expect((await storeCommand('export', '--with-secrets')).stdout).toContain('swordfish');
});

test('G-5: `audit` reads the record from a database without a gateway, and reports a missing record', async () => {
  const audit = async (...args: string[]) => runCommand(['audit', '--store', server.url(), ...args]);
  const store = await open();
  const log = await store.openAudit();
  await log.append(Array.from({ length: 450 }, (_, index) => callLine(index + 1)));
  const all = await audit('--json', '--server', 'one');
  expect(all).toMatchObject({ code: 0, stderr: '' });
  const numbers = all.stdout.split('\n').map((line) => (JSON.parse(line) as { n: number }).n);
  expect(numbers).toEqual(Array.from({ length: 450 }, (_, index) => index + 1));
  expect((await audit('--limit', '2')).stdout.split('\n')).toHaveLength(2);
  await admin.script('DROP TABLE meanwhile.audit');
  const none = await audit();
  expect(none).toMatchObject({ code: 0, stdout: '' });
  expect(none.stderr).toContain(`no matching lines in ${name()}`);
  expect(all.stdout + none.stderr).not.toContain('hunter2');
});

test('K-1: problems of the database are reported with a fix, and nothing is created', async () => {
  for (const action of ['show', 'prune', 'export']) {
    const ran = await storeCommand(action);
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain(`${name()}: no store; \`meanwhile serve --store\` creates one`);
  }
  expect(await admin.run(`SELECT to_regnamespace('meanwhile') AS schema`)).toEqual([{ schema: null }]);
  await (await open()).close();
  await admin.run('UPDATE meanwhile.store SET version = 99');
  for (const action of ['show', 'prune', 'export'])
    expect((await storeCommand(action)).stderr).toContain('update meanwhile');
  const wrong = await runCommand(['store', '--store', server.url('postgres', 'ann:hunter3')]);
  expect(wrong.stderr).toContain('check user and password');
  expect(wrong.stderr).not.toContain('hunter3');
});

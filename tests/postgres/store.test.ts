import { tmpdir } from 'node:os';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AccountStore } from '../../src/core/ports/account-store.ts';
import { createLog } from '../../src/lib/log.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from '../../src/store/postgres/store.ts';
import type { PostgresServer } from './server.ts';
import { usePostgres } from './stores.ts';
import { loadConfig, startHttp, type HttpGateway } from '../../src/main.ts';
import { loadDriver } from '../../src/store/postgres/driver.ts';
import { migrate, MIGRATIONS } from '../../src/store/postgres/schema.ts';
import { readAuditStatement } from '../../src/store/audit/sql.ts';
import { AUDIT_DIALECT } from '../../src/store/postgres/audit.ts';
import { accountsContract } from '../contract/accounts.contract.ts';
import { auditContract, callLine } from '../contract/audit.contract.ts';
import { callEntry, historyContract } from '../contract/history.contract.ts';
import { outboxContract } from '../contract/outbox.contract.ts';
import { storeContract } from '../contract/store.contract.ts';

const postgres = usePostgres();
const { log, empty, open, expireClaims } = postgres;
let server: PostgresServer;
let admin: Database;
beforeAll(() => ({ server, admin } = postgres));

storeContract(
  'postgres',
  async () => {
    await empty();
    return { store: await open(), openAnother: open, expireClaims };
  },
  { shared: true },
);

historyContract('postgres', async () => {
  await empty();
  return { store: await open(), openAnother: open, shared: true, firstGone: expireClaims };
});

auditContract('postgres', async () => {
  await empty();
  return { store: await open(), openAnother: open };
});

outboxContract('postgres', async () => {
  await empty();
  return { store: await open(), openAnother: open, firstGone: expireClaims };
});

describe('the audit record on PostgreSQL', () => {
  let store: PostgresStore;
  beforeEach(async () => {
    await empty();
    store = await open();
  });
  afterEach(async () => store.close());

  it('G-5: a slow search does not delay the history, whose connection also writes lines', async () => {
    const audit = await store.openAudit();
    await audit.append([callLine(1)]);
    // Every line takes a second.
    await admin.script(`ALTER TABLE meanwhile.audit RENAME TO lines;
      CREATE VIEW meanwhile.audit AS SELECT lines.*, pg_sleep(1)::text AS slept FROM meanwhile.lines`);
    const begun = performance.now();
    const searched = audit.read({ order: 'newest', limit: 10 }).then(() => performance.now() - begun);
    await store.history.append([{ entry: callEntry('c1') }]);
    expect(await store.history.find(['c1'])).toHaveLength(1);
    const took = performance.now() - begun;
    expect(took).toBeLessThan(await searched);
  });

  it.each([
    ['principal', 'audit_by_answerer'],
    ['server', 'audit_by_server'],
    ['tool', 'audit_by_tool'],
    ['sessionId', 'audit_by_session'],
  ])('G-5: lines of a rare %s are found with an index', async (field, index) => {
    await store.openAudit();
    await admin.script(`INSERT INTO meanwhile.audit (seq, gateway, n, kind, owner, answerer, server, tool, session_id, at, bytes, data)
      SELECT i, 'g', i, 'answer', 'ann', 'a' || i, 's' || i, 't' || i, 'n' || i, i, 100, '{}' FROM generate_series(1, 20000) i;
      ANALYZE meanwhile.audit`);
    const query = { order: 'newest', limit: 10, [field]: 'x' } as const;
    const { sql, values } = readAuditStatement(query, { above: 0, below: 30_000 }, AUDIT_DIALECT);
    const plan = await admin.run(`EXPLAIN ${sql}`, values);
    expect(JSON.stringify(plan)).toContain(index);
  });
});

accountsContract('postgres', async () => {
  await empty();
  return { store: await open(), openAnother: open, shared: true };
});

it('A-S: gateways with different clocks agree on the claim of an account', async () => {
  await empty();
  const stores = [await open(), await open()] as const;
  const [accounts, others]: AccountStore[] = stores.map((store) => store.accounts);
  if (!accounts || !others) throw new Error('no store');
  try {
    const record = {
      kind: 'tokens',
      id: 'a',
      principal: 'ann',
      server: 'files',
      createdAt: 0,
      data: 'sealed',
    } as const;
    const version = (await accounts.put(record, 'any', 0)) ?? '';
    expect(await accounts.claim({ ...record, version }, { by: 'one', ms: 60_000, now: 0 })).toBe(true);
    expect(await others.claim({ ...record, version }, { by: 'two', ms: 60_000, now: Date.now() + 3_600_000 })).toBe(
      false,
    );
  } finally {
    for (const store of stores) await store.close();
  }
});

describe('a gateway', () => {
  beforeEach(empty);

  const start = async (): Promise<HttpGateway> =>
    startHttp(await loadConfig({ flags: { store: server.url(), port: '0' }, env: {}, cwd: tmpdir() }), log);

  async function send({ url }: HttpGateway, message: object, session?: string): Promise<Response> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
    };
    return fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) });
  }

  it('K-1, K-7, P-1: keeps its sessions on PostgreSQL, and is ready while the database is up', async () => {
    const first = await start();
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const hello = await send(first, { method: 'initialize', params });
    const id = hello.headers.get('mcp-session-id') ?? '';
    await hello.text();
    await first.close();
    const second = await start();
    const isReady = async (): Promise<number> => (await fetch(new URL('/readyz', second.url))).status;
    try {
      expect(await isReady()).toBe(200);
      const listed = await send(second, { method: 'tools/list' }, id);
      expect(await listed.text()).toContain('execute_tool');
      await server.down();
      await expect.poll(isReady).toBe(503);
      await server.up();
      await expect.poll(isReady).toBe(200);
    } finally {
      await second.close();
    }
  });
});

describe('opening', () => {
  beforeEach(empty);

  const failure = async (
    url: string,
    options: Partial<PostgresStoreOptions> = {},
  ): Promise<{ code: string; message: string }> => {
    const opened = openPostgresStore({ url, log, leaseMs: 10_000, ...options });
    const error = await opened.then(
      async (store) => store.close().then(() => undefined),
      (error: unknown) => error as { code: string; message: string },
    );
    if (error === undefined) throw new Error('the store was opened');
    expect(error).toMatchObject({ name: 'StoreError' });
    const said = [error, error.message, String((error as { cause?: unknown }).cause)];
    expect(JSON.stringify(said)).not.toContain('hunter2');
    return error;
  };

  it('K-1: fails with the problem of the URL, and without the password', async () => {
    expect(await failure(server.url('postgres', 'ann:hunter22'))).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('check user and password'),
    });
    expect(await failure(server.url('nothing'))).toMatchObject({
      code: 'STORE_MISSING',
      message: expect.stringMatching(/"nothing" does not exist; create the database/),
    });
    expect(await failure('postgres://ann:hunter2@127.0.0.1:1/x')).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/^postgres:\/\/127\.0\.0\.1:1\/x: .*ECONNREFUSED.*; check host and port/),
    });
    expect(await failure('postgres://ann:hunter2@host:port/x')).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('expected postgres://user:password@host:5432/database'),
    });
    for (const password of ['q7@w9/x8#y6', 'q7/w9', 'q7#w9']) {
      const { message } = await failure(`postgres://ann:${password}@host/x`);
      expect(message).toContain('percent-encoded');
      expect(message).not.toMatch(/[qwxy]\d/);
    }
  });

  it('K-1: fails with the command that installs the driver', async () => {
    await expect(loadDriver('postgres://host/x', 'a-driver-that-is-not-there')).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/^postgres:\/\/host\/x: .*npm install postgres@3/),
    });
  });

  it('K-1: fails with the missing privilege, and does not need it if the schema exists', async () => {
    await admin.script(`DROP ROLE IF EXISTS bob; CREATE ROLE bob LOGIN PASSWORD 'hunter2'`);
    const url = server.url('postgres', 'bob:hunter2');
    expect(await failure(url)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/permission denied.*GRANT CREATE ON DATABASE/),
    });
    await admin.script('CREATE SCHEMA meanwhile AUTHORIZATION bob');
    const store = await openPostgresStore({ url, log, leaseMs: 10_000 });
    expect(await store.servers()).toEqual([]);
    await store.close();
    await admin.script('DROP SCHEMA meanwhile CASCADE');
    await (await open()).close();
    expect(await failure(url)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/permission denied.*owner of the schema "meanwhile".*GRANT <owner> TO <user>/),
    });
    await admin.script('GRANT ann TO bob');
    await (await openPostgresStore({ url, log, leaseMs: 10_000 })).close();
    await admin.script('DROP SCHEMA meanwhile CASCADE; DROP ROLE bob');
  });

  it('K-1: fails with the number of needed connections, and leaves no connections open', async () => {
    await admin.script(`CREATE ROLE eve LOGIN PASSWORD 'hunter2' CONNECTION LIMIT 6; GRANT ann TO eve`);
    const url = server.url('postgres', 'eve:hunter2');
    expect(await failure(url)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(
        /too many connections.*needs 7 connections, 8 with `audit`: raise max_connections/,
      ),
    });
    await admin.script('ALTER ROLE eve CONNECTION LIMIT 7');
    await expect.poll(async () => admin.run(`SELECT FROM pg_stat_activity WHERE usename = 'eve'`)).toEqual([]);
    await (await openPostgresStore({ url, log, leaseMs: 10_000 })).close();
    await expect.poll(async () => admin.run(`SELECT FROM pg_stat_activity WHERE usename = 'eve'`)).toEqual([]);
    await admin.script('DROP SCHEMA meanwhile CASCADE; DROP OWNED BY eve; DROP ROLE eve');
  });

  it('K-1: refuses an old server and names the required version', async () => {
    // It says that it is one.
    await admin.script(
      `CREATE SCHEMA old; CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql AS 'SELECT ''120022'''`,
    );
    expect(await failure(`${server.url()}?search_path=old,pg_catalog`)).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/PostgreSQL 12; update it to 13 or newer/),
    });
    await admin.script('DROP SCHEMA old CASCADE');
  });

  it.each([
    [-60_000, '60 seconds behind'],
    [60_000, '60 seconds ahead of'],
  ])('K-1: refuses a clock that is off by %i ms, and leaves no lease', async (off, words) => {
    expect(await failure(server.url(), { clock: { now: () => Date.now() + off } })).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(new RegExp(`clock of this machine is ${words} that of the database; synchronize`)),
    });
    expect(await admin.run('SELECT FROM meanwhile.leases')).toEqual([]);
  });

  it('K-1: warns once about differing clocks and about differing leases', async () => {
    const warned: Record<string, unknown>[] = [];
    const told = createLog('warn', (line) => warned.push(JSON.parse(line) as Record<string, unknown>));
    let off = 20_000;
    const clock = { now: () => Date.now() + off };
    const [one, two] = [
      await open(),
      await openPostgresStore({ url: server.url(), log: told, leaseMs: 60_000, clock }),
    ];
    try {
      expect(warned).toMatchObject([{ event: 'lease_differs', data: { leaseMs: 60_000, others: '10000' } }]);
      await two.cluster.renew({});
      expect(warned).toHaveLength(1);
      off = 45_000;
      for (let times = 0; times < 2; times += 1) await two.cluster.renew({});
      expect(warned.slice(1)).toMatchObject([
        { event: 'clock_differs', data: { problem: expect.stringContaining('45 seconds ahead of') } },
      ]);
    } finally {
      await one.close();
      await two.close();
    }
  });

  it('K-1: refuses a database with an unsuitable encoding and names the fix', async () => {
    await admin.script(`CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`);
    expect(await failure(server.url('ascii'))).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(/SQL_ASCII; .*CREATE DATABASE … ENCODING 'UTF8'/),
    });
  });

  it('K-3: refuses a database without the signing key of the gateways and names the fix', async () => {
    await (await open()).close();
    await admin.run(`DELETE FROM meanwhile.secrets WHERE name = 'gateways'`);
    const refused = await failure(server.url());
    expect(refused).toMatchObject({ code: 'STORE_UNUSABLE', message: expect.stringContaining('meanwhile.secrets') });
    const [, fix = ''] = /(INSERT .*)$/.exec(refused.message) ?? [];
    await admin.run(fix);
    await (await open()).close();
  });

  it('P-4, K-1: refuses a foreign schema and a newer version, and changes neither', async () => {
    await admin.script('CREATE SCHEMA meanwhile; CREATE TABLE meanwhile.precious (x int)');
    expect(await failure(server.url())).toMatchObject({ code: 'STORE_NOT_OURS' });
    expect(await admin.run('SELECT x FROM meanwhile.precious')).toEqual([]);
    await empty();
    await (await open()).close();
    await admin.run('UPDATE meanwhile.store SET version = 99');
    expect(await failure(server.url())).toMatchObject({
      code: 'STORE_TOO_NEW',
      message: expect.stringMatching(/version 99, .*update meanwhile/),
    });
  });

  it('P-4, K-1: concurrent starts create the store once', async () => {
    const stores = await Promise.all([open(), open(), open(), open()]);
    for (const store of stores) expect(await store.servers()).toEqual([]);
    await Promise.all(stores.map(async (store) => store.close()));
  });

  it('P-4: migrates an older store completely or not at all', async () => {
    await migrate(admin);
    await admin.run(`INSERT INTO meanwhile.servers VALUES ('a', '{}')`);
    const broken = [...MIGRATIONS, 'CREATE TABLE meanwhile.later (x int); CREATE TABLE meanwhile.servers (x int)'];
    await expect(migrate(admin, broken)).rejects.toMatchObject({ code: 'STORE_MIGRATION_FAILED' });
    await Promise.all([1, 2].map(async () => migrate(admin, [...MIGRATIONS, 'CREATE TABLE meanwhile.later (x int)'])));
    const found = await admin.run('SELECT (SELECT version FROM meanwhile.store), id FROM meanwhile.servers');
    expect(found).toMatchObject([{ version: MIGRATIONS.length + 1, id: 'a' }]);
  });
});

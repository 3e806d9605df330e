/** The ways to a PostgreSQL: with TLS, without, over a Unix socket, and among several hosts. */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { owned } from '../support/owned.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { PostgresServer } from './server.ts';

/** Made once with openssl, for a hundred years: the server is localhost and 127.0.0.1, the client is carol. */
const file = (name: string): string => fileURLToPath(new URL(`certificates/${name}`, import.meta.url));
const CA = `sslrootcert=${file('ca.crt')}`;
const CERTIFICATE = `sslcert=${file('client.crt')}`;

let server: PostgresServer;
/** Has no TLS, and can only be read. */
let plain: PostgresServer;

beforeAll(async () => {
  const access = [
    'local all all scram-sha-256',
    'hostssl all carol 127.0.0.1/32 cert',
    'hostssl all secret 127.0.0.1/32 scram-sha-256',
    'hostnossl all open 127.0.0.1/32 scram-sha-256',
    'host all ann 127.0.0.1/32 scram-sha-256',
  ];
  const tls = ['ssl=on', 'ssl_cert_file=server.crt', 'ssl_key_file=server.key', 'ssl_ca_file=ca.crt'];
  [server, plain] = await Promise.all([
    PostgresServer.start({
      settings: [...tls, 'unix_socket_directories=.'],
      files: ['ca.crt', 'server.crt', 'server.key'].map(file),
      access: `${access.join('\n')}\n`,
    }),
    PostgresServer.start({ settings: ['default_transaction_read_only=on'] }),
  ]);
  await query(
    server.url(),
    ['carol', 'secret', 'open'].map((user) => `CREATE ROLE ${user} LOGIN PASSWORD 'hunter2'`).join(';'),
  );
}, 120_000);
afterAll(async () => {
  await server.remove();
  await plain.remove();
});

/** The rows, or why there are none: in the words in which a gateway says it when it does not start. */
async function query(url: string, sql: string): Promise<unknown> {
  try {
    const db = await Database.open(url);
    try {
      return (await db.greet(sql))[0];
    } finally {
      await db.close();
    }
  } catch (error) {
    const { name, message } = error as Error;
    expect(name).toBe('StoreError');
    for (const secret of ['hunter2', 'swordfish', 'PRIVATE KEY']) expect(message).not.toContain(secret);
    return message;
  }
}

const HAS_TLS = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
const hasTls = async (parameters: string, user = 'ann:hunter2', host = '127.0.0.1'): Promise<unknown> =>
  query(`postgres://${user}@${host}:${server.port}/postgres?${parameters}`, HAS_TLS);

describe('TLS', () => {
  it.each([
    ['', true],
    ['sslmode=disable', false],
    ['sslmode=allow', false],
    ['sslmode=prefer', true],
    ['sslmode=require', true],
    ['ssl=true', true],
    [`sslmode=verify-ca&${CA}`, true],
    [`sslmode=verify-full&${CA}`, true],
    ['sslmode=require&sslnegotiation=direct', true],
    ['sslmode=require&channel_binding=prefer&gssencmode=disable&application_name=x', true],
  ])('K-1: with %j TLS is used: %s', async (parameters, ssl) => {
    expect(await hasTls(parameters)).toEqual({ ssl });
  });

  it('K-1: verify-full checks the host name, and verify-ca only the certificate authority', async () => {
    expect(await hasTls(`sslmode=verify-full&${CA}`, undefined, 'localhost')).toEqual({ ssl: true });
    // Another name of the same machine.
    expect(await hasTls(`sslmode=verify-ca&${CA}`, undefined, '127.1')).toEqual({ ssl: true });
    expect(await hasTls(`sslmode=verify-full&${CA}`, undefined, '127.1')).toMatch(
      /does not match certificate.*; the server's certificate is for another host: use a host name from the certificate in the URL/,
    );
  });

  it('K-1: allow and prefer try the other mode if the server refuses the first', async () => {
    expect(await hasTls('sslmode=allow', 'secret:hunter2')).toEqual({ ssl: true });
    expect(await hasTls('sslmode=prefer', 'open:hunter2')).toEqual({ ssl: false });
    expect(await hasTls('sslmode=disable', 'secret:hunter2')).toMatch(/no encryption; check user and password/);
    expect(await hasTls('sslmode=require', 'open:hunter2')).toMatch(/SSL encryption; check user and password/);
    expect(await hasTls('', 'nobody:hunter2')).toMatch(/user "nobody".* SSL encryption; check user and password/);
    expect(await hasTls('', 'ann:hunter22')).toMatch(/password authentication failed.*; check user and password/);
  });

  it('K-1: a server without TLS is used if the mode allows it, and otherwise the error says so', async () => {
    for (const mode of ['allow', 'prefer'])
      expect(await query(`${plain.url()}?sslmode=${mode}`, HAS_TLS)).toEqual({ ssl: false });
    for (const mode of ['require', 'verify-ca', 'verify-full'])
      expect(await query(`${plain.url()}?sslmode=${mode}`, HAS_TLS)).toMatch(
        new RegExp(`does not offer TLS, which sslmode=${mode} requires; enable TLS on the server .*sslmode=disable`),
      );
  });

  it('K-1: an untrusted certificate is reported with the parameter to set', async () => {
    const other = `sslrootcert=${file('other-ca.crt')}`;
    for (const parameters of [
      'sslmode=verify-ca',
      'sslmode=verify-full',
      'sslrootcert=system',
      `sslmode=verify-full&${other}`,
      // As to libpq, an authority is to be checked whatever the mode.
      `sslmode=require&${other}`,
    ])
      expect(await hasTls(parameters)).toMatch(/server's certificate is not trusted: .* sslrootcert=FILE/);
    expect(await hasTls(`sslmode=prefer&${other}`)).toEqual({ ssl: false });
  });

  it('K-1: the gateway can use a client certificate', async () => {
    const key = `sslkey=${file('client.key')}`;
    const locked = `sslkey=${file('client-locked.key')}`;
    expect(await hasTls(`sslmode=verify-full&${CA}&${CERTIFICATE}&${key}`, 'carol')).toEqual({ ssl: true });
    const url = `sslmode=require&${CERTIFICATE}&${locked}`;
    expect(await hasTls(`${url}&sslpassword=swordfish`, 'carol')).toEqual({ ssl: true });
    for (const wrong of [url, `${url}&sslpassword=swordfish2`])
      expect(await hasTls(wrong, 'carol')).toMatch(
        /sslkey .*client-locked\.key cannot be used with sslcert .*client\.crt: /,
      );
    expect(await hasTls('sslmode=require', 'carol')).toMatch(/requires a valid client certificate/);
    // That of a server is not one for clients.
    const foreign = `sslcert=${file('server.crt')}&sslkey=${file('server.key')}`;
    // Its reason is lost now and then with the connection, which it closes at once.
    await expect
      .poll(async () => hasTls(`sslmode=require&${foreign}`, 'carol'))
      .toMatch(/; the server rejects the certificate of this gateway, .*sslcert and sslkey/);
  });

  it('K-1: a missing or wrong file is named', async () => {
    const missing = file('missing');
    for (const [parameters, words] of [
      [`sslrootcert=${missing}`, `sslrootcert ${missing} cannot be read: ENOENT`],
      [`sslcert=${missing}&sslkey=${file('client.key')}`, `sslcert ${missing} cannot be read: ENOENT`],
      [`${CERTIFICATE}&sslkey=${missing}`, `sslkey ${missing} cannot be read: ENOENT`],
      [`sslrootcert=${file('server.key')}`, `sslrootcert ${file('server.key')} is not a PEM certificate`],
      [`${CERTIFICATE}&sslkey=${file('server.key')}`, `sslkey ${file('server.key')} cannot be used with sslcert`],
      [`${CERTIFICATE}&sslkey=${file('client.crt')}`, `sslkey ${file('client.crt')} cannot be used with sslcert`],
    ] as const) {
      const said = await hasTls(`sslmode=require&${parameters}`);
      expect(said).toContain(words);
      expect(said).toContain('; correct the file, or its name in the URL');
    }
    expect(await hasTls('sslmode=on')).toMatch(
      /^postgres:\/\/127\.0\.0\.1:\d+\/postgres: sslmode is unknown; use one of/,
    );
  });

  // Node would report the write after the end of the connection, when nothing listens any more: an uncaught error.
  it('K-1: closing a connection while a statement is being sent over TLS only fails the statement', async () => {
    const db = await Database.open(`${server.url()}?sslmode=require`);
    const client = db.connect({ max: 1 });
    await client.unsafe('SELECT 1');
    const sent = client.unsafe(`SELECT length('${'x'.repeat(50_000_000)}')`);
    const failed = expect(sent).rejects.toMatchObject({ code: 'CONNECTION_DESTROYED' });
    // The driver writes it in this turn.
    await setImmediate();
    await client.end({ timeout: 0 });
    await failed;
    await db.close();
  });

  it('K-1, K-7: a store works with TLS and recovers after its connections were cut', async () => {
    const proxy = await TcpProxy.start(server.port);
    const log = createLog('silent');
    try {
      const url = `${server.url(undefined, undefined, proxy.port)}?sslmode=verify-full&${CA}`;
      const store = owned(await openPostgresStore({ url, log, leaseMs: 60_000 }));
      const connections = `SELECT ssl, count(*)::int FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name LIKE 'meanwhile%' AND pid <> pg_backend_pid() GROUP BY ssl`;
      expect(await query(server.url(), connections)).toEqual({ ssl: true, count: 7 });
      proxy.cut();
      expect(await store.cluster.renew({})).toMatchObject({ lost: [] });
      expect(await store.servers()).toEqual([]);
      proxy.turnsAway = true;
      proxy.cut();
      proxy.opened = 0;
      await expect(store.servers()).rejects.toMatchObject({ name: 'StoreError' });
      expect(proxy.opened).toBeLessThan(100);
      proxy.turnsAway = false;
      await store.close();
    } finally {
      await proxy.close();
    }
  });
});

describe('opening', () => {
  it('K-1: a balancer that closes connections is reported as a closed connection', async () => {
    const proxy = await TcpProxy.start(server.port);
    proxy.turnsAway = true;
    try {
      for (const mode of ['disable', 'prefer', 'require'])
        expect(await query(`${server.url(undefined, undefined, proxy.port)}?sslmode=${mode}`, HAS_TLS)).toMatch(
          /the connection was closed; check host and port, and that PostgreSQL is running/,
        );
      expect(proxy.opened).toBe(3);
    } finally {
      await proxy.close();
    }
  });

  it('K-1: a Unix socket is used without TLS', async () => {
    const host = encodeURIComponent(server.data);
    expect(await hasTls('sslmode=require', undefined, host)).toEqual({ ssl: false });
    expect(await hasTls('', undefined, encodeURIComponent(join(server.data, 'none')))).toMatch(/ENOENT.*; check host/);
  });
});

describe('several hosts', () => {
  const hosts = (...ports: number[]): string =>
    `postgres://ann:hunter2@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres`;
  const PORT = `SELECT current_setting('port')::int AS port`;

  it('K-1, K-7: the first reachable host is used', async () => {
    expect(await query(hosts(1, server.port), PORT)).toEqual({ port: server.port });
    expect(await query(hosts(server.port, 1), PORT)).toEqual({ port: server.port });
    expect(await query(hosts(1, 2), PORT)).toMatch(
      /^postgres:\/\/127\.0\.0\.1:1,127\.0\.0\.1:2\/postgres: .*ECONNREFUSED.*; check host and port/,
    );
  });

  it('K-1, K-7: target_session_attrs selects among them', async () => {
    const any = hosts(plain.port, server.port);
    expect(await query(any, PORT)).toEqual({ port: plain.port });
    expect(await query(`${any}?target_session_attrs=read-write`, PORT)).toEqual({ port: server.port });
    const all = `${any}?target_session_attrs=standby`;
    expect(await query(all, PORT)).toMatch(/no host of the URL matches target_session_attrs; check that/);
    const db = await Database.open(`${any}?target_session_attrs=read-write`);
    try {
      await db.connectAll();
      const ports = await Promise.all(Array.from({ length: 3 }, async () => db.run(PORT)));
      expect(ports.flat()).toEqual(ports.map(() => ({ port: server.port })));
    } finally {
      await db.close();
    }
  });

  it('K-7: a read-only host, as after a failover, is replaced by the next one', async () => {
    const db = await Database.open(hosts(plain.port, server.port));
    const write = 'CREATE TABLE IF NOT EXISTS public.written (x int)';
    try {
      await expect(db.run(write)).rejects.toMatchObject({ code: '25006' });
      await db.read(write);
      expect(await db.run(PORT)).toEqual([{ port: server.port }]);
    } finally {
      await db.close();
    }
  });
});

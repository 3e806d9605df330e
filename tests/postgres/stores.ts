/** What files of tests of the store share: a server of their own, and stores on an empty database. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { ClaimedSession } from '../../src/core/ports/store.ts';
import { createLog, type Log } from '../../src/lib/log.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/store.ts';
import { PostgresServer } from './server.ts';

/** A trigger that keeps a statement waiting. */
export const SLEEP = `CREATE FUNCTION meanwhile.sleep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN new; END';`;

export const ids = (records: { id: string }[]): string[] => records.map(({ id }) => id);

export interface Postgres {
  server: PostgresServer;
  admin: Database;
  log: Log;
  /** All that is logged by the stores and gateways of the file. */
  logged: string[];
  empty: () => Promise<void>;
  open: () => Promise<PostgresStore>;
  expireClaims: () => Promise<void>;
}

/** The server is there from the first test to the last; the password is never logged. */
export function usePostgres(): Postgres {
  const logged: string[] = [];
  const log = createLog('debug', (line) => logged.push(line));
  let server: PostgresServer | undefined;
  let admin: Database | undefined;
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('PostgreSQL has not been started');
    return part;
  };
  beforeAll(async () => {
    server = await PostgresServer.start();
    // By its name its connections are told from those of stores.
    admin = await Database.open(`${server.url()}?application_name=admin`);
  }, 120_000);
  afterAll(async () => {
    await admin?.close();
    await server?.remove();
    expect(logged.join('\n')).not.toContain('hunter2');
  });
  return {
    get server() {
      return started(server);
    },
    get admin() {
      return started(admin);
    },
    log,
    logged,
    empty: async () => started(admin).script('DROP SCHEMA IF EXISTS meanwhile CASCADE'),
    open: async () => openPostgresStore({ url: started(server).url(), log, leaseMs: 10_000 }),
    expireClaims: async () => {
      await started(admin).run('UPDATE meanwhile.leases SET until = now()');
    },
  };
}

export interface TwoStores {
  store: PostgresStore;
  another: PostgresStore;
  /** Claims a session that nobody has; from the first store unless another is given. */
  claim: (id: string, from?: PostgresStore) => Promise<ClaimedSession>;
}

/** Opens two stores on an empty database for each test, which gets them with `given`. */
export function useTwoStores({ empty, open }: Postgres, given: (stores: TwoStores) => void): void {
  let opened: PostgresStore[] = [];
  beforeEach(async () => {
    await empty();
    const [store, another] = await Promise.all([open(), open()]);
    opened = [store, another];
    const claim: TwoStores['claim'] = async (id, from = store) => {
      const claimed = await from.claim(id);
      if (claimed === undefined) throw new Error(`session ${id} is claimed already`);
      return claimed;
    };
    given({ store, another, claim });
  });
  afterEach(async () => {
    for (const each of opened) await each.close();
  });
}

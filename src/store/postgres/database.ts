/**
 * The connections to the database. Every operation is one statement, and so one transaction: a lost connection
 * can never leave half of it, and it takes one round trip.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../lib/log.ts';
import { withoutSecrets } from '../../lib/postgres-url.ts';
import { VERSION } from '../../lib/version.ts';
import { StoreError } from '../store-error.ts';
import { type DatabaseAddress, addressOf, NotAUrl } from './address.ts';
import { RoutedClient } from './client.ts';
import { Connections, LAST_SECONDS } from './connections.ts';
import { loadDriver, type PostgresClient, type ClientOptions, type Driver, type Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { mayPass, openFailure, readFailure } from './failure.ts';
import { CONNECT_SECONDS, HostRoute } from './route.ts';

/**
 * The purpose of a statement: changes and lease renewals use separate connections, however many statements
 * read. So does the history, which must not delay anything else. The audit record uses another one, opened only if there is
 * a record, because searching it may be slow.
 */
export type Lane = 'records' | 'changes' | 'lease' | 'history' | 'audit';

interface LaneLimits {
  connections: number;
  /** The server ends a statement that takes longer. */
  statementMs: number;
  /** A connection without an answer in this time counts as hung. */
  answerMs: number;
}

const LANES: Record<Lane, LaneLimits> = {
  records: { connections: 3, statementMs: 8000, answerMs: 10_000 },
  // Commits are sequential.
  changes: { connections: 1, statementMs: 8000, answerMs: 10_000 },
  lease: { connections: 1, statementMs: 2500, answerMs: 3000 },
  history: { connections: 1, statementMs: 8000, answerMs: 10_000 },
  audit: { connections: 1, statementMs: 8000, answerMs: 10_000 },
};

/** Lanes that are always used. */
const ALWAYS_OPEN = ['records', 'changes', 'lease', 'history'] as const;

/** How long reads and commits wait for a database that cannot be reached before they fail. */
export const PATIENCE_MS = 2000;
/** The delay before retrying a temporary failure. */
export const RETRY_MS = 50;

export class Database {
  /** For messages. */
  readonly name: string;
  readonly #url: string;
  readonly #route: HostRoute;
  readonly #driver: Driver;
  readonly #lanes: Record<Lane, Connections>;
  #closing: Promise<void> | undefined;

  private constructor(name: string, address: DatabaseAddress, driver: Driver) {
    this.name = name;
    this.#url = address.url;
    this.#route = new HostRoute(address);
    this.#driver = driver;
    this.#lanes = {
      records: this.#newLane('records'),
      changes: this.#newLane('changes'),
      lease: this.#newLane('lease'),
      history: this.#newLane('history'),
      audit: this.#newLane('audit'),
    };
  }

  #newLane(lane: Lane): Connections {
    const { connections: max, statementMs, answerMs } = LANES[lane];
    const parameters = { statement_timeout: String(statementMs) };
    return new Connections({ max, answerMs, connect: () => this.connect({ max, parameters }) });
  }

  static async open(url: string): Promise<Database> {
    const name = withoutSecrets(url);
    const address = readAddress(url, name);
    const driver = await loadDriver(name);
    try {
      return new Database(name, address, driver);
    } catch {
      // The driver's error contains the URL with the password.
      throw notAUrl(name);
    }
  }

  /** Opens separate connections, for connection-bound work. */
  connect({
    parameters,
    ...options
  }: Pick<ClientOptions, 'max' | 'onnotify' | 'onclose'> & { parameters?: Record<string, string> }): PostgresClient {
    const { host, port } = this.#route.host;
    const connect = (socket: ClientOptions['socket']): PostgresClient =>
      this.#driver(this.#url, {
        socket,
        // Only for messages: the socket is already connected.
        host: [host],
        port: [port],
        ssl: false,
        connect_timeout: CONNECT_SECONDS,
        // Callers retry themselves, with their own delay.
        backoff: 0,
        max_lifetime: null,
        fetch_types: false,
        connection: { application_name: `meanwhile ${VERSION}`, ...parameters },
        onnotice: () => {},
        ...options,
      });
    return new RoutedClient(this.#route, connect);
  }

  /** Fails now rather than later if the server does not accept this many connections. */
  async connectAll(): Promise<void> {
    await Promise.all(ALWAYS_OPEN.map(async (lane) => this.#lanes[lane].open()));
  }

  /** Runs a statement once. */
  async run(sql: string, values: SqlValue[] = [], lane: Lane = 'records'): Promise<Row[]> {
    if (this.#closing) throw this.closed();
    return this.#lanes[lane].run(sql, values);
  }

  /** Runs an idempotent statement, and retries it if the connection is lost. */
  async read(sql: string, values: SqlValue[] = [], lane: Lane = 'records'): Promise<Row[]> {
    return this.retry(async () => this.run(sql, values, lane));
  }

  /** The same for a statement that differs in each attempt. */
  async retry(make: () => Promise<Row[]>): Promise<Row[]> {
    const begun = performance.now();
    for (;;) {
      try {
        return await make();
      } catch (error) {
        if (!mayPass(error) || error instanceof StoreError || performance.now() - begun > PATIENCE_MS) {
          throw readFailure(this.name, error);
        }
        await delay(RETRY_MS);
      }
    }
  }

  /** Runs several statements atomically, possibly slow ones. Only for opening the store: they are not prepared. */
  async script(sql: string): Promise<void> {
    const client = this.connect({ max: 1 });
    try {
      await client.unsafe(sql);
    } finally {
      await client.end({ timeout: LAST_SECONDS });
    }
  }

  /** The first statement, which reveals problems with the URL or the server. */
  async greet(sql: string): Promise<Row[]> {
    try {
      return await this.run(sql);
    } catch (error) {
      throw openFailure(this.name, error);
    }
  }

  closed(): StoreError {
    return new StoreError('STORE_CLOSED', `${this.name}: the store is closed`);
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all(Object.values(this.#lanes).map(async (lane) => lane.close())).then(() => {});
    return this.#closing;
  }
}

function readAddress(url: string, name: string): DatabaseAddress {
  try {
    return addressOf(url);
  } catch (error) {
    throw error instanceof NotAUrl ? notAUrl(name) : new StoreError('STORE_UNUSABLE', `${name}: ${messageOf(error)}`);
  }
}

function notAUrl(name: string): StoreError {
  return new StoreError(
    'STORE_UNUSABLE',
    `${name}: not a URL; expected postgres://user:password@host:5432/database, with special characters of the password ` +
      'percent-encoded (@ is %40, / is %2F, # is %23, : is %3A)',
  );
}

/**
 * The connections to the database. Everything is one statement, and so a transaction by itself: a connection that is lost
 * can never leave half of one, and it takes one round trip.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../lib/log.ts';
import { withoutSecrets } from '../../lib/postgres-url.ts';
import { VERSION } from '../../lib/version.ts';
import { StoreError } from '../store-error.ts';
import { type DatabaseAddress, addressOf, NotAUrl } from './address.ts';
import { RoutedClient } from './client.ts';
import { Connections, LAST_SECONDS } from './connections.ts';
import { loadDriver, type PostgresClient, type ClientOptions, type Driver, type Row, type Value } from './driver.ts';
import { mayPass, openFailure, readFailure } from './failure.ts';
import { CONNECT_SECONDS, HostRoute } from './route.ts';

/**
 * What statements are for: changes are written, and the lease is renewed, on connections of their own, however many statements
 * read. So is the history, for which nothing else must wait. The audit record is read on another one, which is opened only if there is
 * a record: to search it may take long.
 */
export type Lane = 'records' | 'changes' | 'lease' | 'history' | 'audit';

interface LaneLimits {
  connections: number;
  /** The server ends a statement that takes longer. */
  statementMs: number;
  /** Without an answer by then the connection hangs. */
  answerMs: number;
}

const LANES: Record<Lane, LaneLimits> = {
  records: { connections: 3, statementMs: 8000, answerMs: 10_000 },
  // One is written after the other.
  changes: { connections: 1, statementMs: 8000, answerMs: 10_000 },
  lease: { connections: 1, statementMs: 2500, answerMs: 3000 },
  history: { connections: 1, statementMs: 8000, answerMs: 10_000 },
  audit: { connections: 1, statementMs: 8000, answerMs: 10_000 },
};

/** Those that are used in any case. */
const ALWAYS_OPEN = ['records', 'changes', 'lease', 'history'] as const;

/** How long reads and commits wait for a database that cannot be reached before they fail. */
export const PATIENCE_MS = 2000;
/** How soon a statement is made again that may pass. */
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
      // The error of the driver has the URL, and with it the password.
      throw notAUrl(name);
    }
  }

  /** Connections of their own, for what belongs to one connection. */
  connect({
    parameters,
    ...options
  }: Pick<ClientOptions, 'max' | 'onnotify' | 'onclose'> & { parameters?: Record<string, string> }): PostgresClient {
    const { host, port } = this.#route.host;
    const connect = (socket: ClientOptions['socket']): PostgresClient =>
      this.#driver(this.#url, {
        socket,
        // Only for messages, unlike TLS: both are done with when there is a socket.
        host: [host],
        port: [port],
        ssl: false,
        connect_timeout: CONNECT_SECONDS,
        // Who uses a connection tries again by itself, and knows better how soon.
        backoff: 0,
        max_lifetime: null,
        fetch_types: false,
        connection: { application_name: `meanwhile ${VERSION}`, ...parameters },
        onnotice: () => {},
        ...options,
      });
    return new RoutedClient(this.#route, connect);
  }

  /** Fails now, not in the middle of the work, if the server does not accept as many connections. */
  async connectAll(): Promise<void> {
    await Promise.all(ALWAYS_OPEN.map(async (lane) => this.#lanes[lane].open()));
  }

  /** Makes a statement once. */
  async run(sql: string, values: Value[] = [], lane: Lane = 'records'): Promise<Row[]> {
    if (this.#closing) throw this.closed();
    return this.#lanes[lane].run(sql, values);
  }

  /** Makes a statement that may be made twice, again if the connection is lost. */
  async read(sql: string, values: Value[] = [], lane: Lane = 'records'): Promise<Row[]> {
    return this.retry(async () => this.run(sql, values, lane));
  }

  /** The same for a statement that is not the same each time. */
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

  /** Several statements at once, all or none, which may take long. Only for opening the store: they are not prepared. */
  async script(sql: string): Promise<void> {
    const client = this.connect({ max: 1 });
    try {
      await client.unsafe(sql);
    } finally {
      await client.end({ timeout: LAST_SECONDS });
    }
  }

  /** The first statement: tells what is wrong with the URL, or with what is behind it. */
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

/**
 * The connections to the database. Everything is one statement, and so a transaction by itself: a connection that is lost
 * can never leave half of one, and it takes one round trip.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { withoutSecrets } from '../../lib/postgres-url.ts';
import { codeOf } from '../../lib/log.ts';
import { VERSION } from '../../lib/version.ts';
import { StoreError } from '../store-error.ts';
import { loadDriver, type Client, type ClientOptions, type Driver, type Row, type Value } from './driver.ts';
import { mayPass, openFailure, READ_ONLY, readFailure } from './failure.ts';

/** Also the number of statements that the database works on at once. */
const CONNECTIONS = 4;
const CONNECT_SECONDS = 5;
/** The server ends a statement that takes longer. */
const STATEMENT_MS = 8000;
/** Without an answer by then the connection hangs, as on a network that lost it without a word. */
const ANSWER_MS = 10_000;
/** How long reads and commits wait for a database that cannot be reached before they fail. */
export const PATIENCE_MS = 2000;
/** How soon a statement is made again that may pass. */
export const RETRY_MS = 50;
/** How long statements of replaced connections may still take. */
const LAST_SECONDS = 1;

export class Database {
  /** For messages. */
  readonly name: string;
  readonly #url: string;
  readonly #driver: Driver;
  #client: Client;
  #inFlight = 0;
  /** Statements that wait for a connection. */
  readonly #waiting: (() => void)[] = [];
  #closing: Promise<void> | undefined;

  private constructor(url: string, driver: Driver) {
    this.#url = url;
    this.#driver = driver;
    this.name = withoutSecrets(url);
    this.#client = this.#connectAll();
  }

  static async open(url: string): Promise<Database> {
    const name = withoutSecrets(url);
    const driver = await loadDriver(name);
    try {
      return new Database(url, driver);
    } catch {
      // The error of the driver has the URL, and with it the password.
      throw new StoreError(
        'STORE_UNUSABLE',
        `${name}: not a URL; expected postgres://user:password@host:5432/database`,
      );
    }
  }

  /** Connections of their own, for what belongs to one connection. */
  connect({
    parameters,
    ...options
  }: Pick<ClientOptions, 'max' | 'onnotify' | 'onclose'> & { parameters?: Record<string, string> }): Client {
    return this.#driver(this.#url, {
      connect_timeout: CONNECT_SECONDS,
      // Who uses a connection tries again by itself, and knows better how soon.
      backoff: 0,
      max_lifetime: null,
      fetch_types: false,
      connection: { application_name: `meanwhile ${VERSION}`, ...parameters },
      onnotice: () => {},
      ...options,
    });
  }

  #connectAll(): Client {
    return this.connect({ max: CONNECTIONS, parameters: { statement_timeout: String(STATEMENT_MS) } });
  }

  /** Makes a statement once. */
  async run(sql: string, values: Value[] = []): Promise<Row[]> {
    // Waits here, not in the driver: the time that an answer may take begins with a connection.
    if (this.#inFlight >= CONNECTIONS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inFlight += 1;
    try {
      return await this.#make(sql, values);
    } finally {
      // The next one has its place.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inFlight -= 1;
    }
  }

  async #make(sql: string, values: Value[]): Promise<Row[]> {
    if (this.#closing) throw this.closed();
    const client = this.#client;
    const hung = new AbortController();
    const timeout = delay(ANSWER_MS, undefined, { signal: hung.signal, ref: false }).then(() => {
      this.#replace(client);
      throw new Error(`no answer within ${ANSWER_MS / 1000} seconds`);
    });
    timeout.catch(() => {});
    try {
      return await Promise.race([client.unsafe(sql, values, { prepare: true }), timeout]);
    } catch (error) {
      // After a failover: others lead to the new primary.
      if (codeOf(error) === READ_ONLY) this.#replace(client);
      throw error;
    } finally {
      hung.abort();
    }
  }

  /** Makes a statement that may be made twice, again if the connection is lost. */
  async read(sql: string, values: Value[] = []): Promise<Row[]> {
    const begun = Date.now();
    for (;;) {
      try {
        return await this.run(sql, values);
      } catch (error) {
        if (!mayPass(error) || error instanceof StoreError || Date.now() - begun > PATIENCE_MS) {
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

  #replace(client: Client): void {
    if (client !== this.#client || this.#closing) return;
    this.#client = this.#connectAll();
    void client.end({ timeout: 0 });
  }

  closed(): StoreError {
    return new StoreError('STORE_CLOSED', `${this.name}: the store is closed`);
  }

  close(): Promise<void> {
    this.#closing ??= this.#client.end({ timeout: LAST_SECONDS });
    return this.#closing;
  }
}

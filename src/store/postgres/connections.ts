import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '../../lib/log.ts';
import type { PostgresClient, Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { isDatabaseError, READ_ONLY } from './failure.ts';

/** How long statements of replaced connections may still take. */
export const LAST_SECONDS = 1;

export interface ConnectionsOptions {
  connect: () => PostgresClient;
  /** Also the number of statements that the database works on at once. */
  max: number;
  /**
   * A connection without an answer in this time counts as hung, as after a silent network failure. A statement waits no longer than
   * that for a connection.
   */
  answerMs: number;
}

/** A pool of connections to the database, opened on use and replaced when broken. */
export class Connections {
  readonly #options: ConnectionsOptions;
  #client: PostgresClient;
  #inFlight = 0;
  /** Statements that wait for a connection. */
  readonly #waiting = new Set<() => void>();
  #closing: Promise<void> | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#client = options.connect();
  }

  /** Opens all of them. */
  async open(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.max }, async () => this.run('SELECT', [])));
  }

  async run(sql: string, values: SqlValue[]): Promise<Row[]> {
    // Waits here, not in the driver: the answer timeout starts with the connection.
    if (this.#inFlight >= this.#options.max) await this.#place();
    else this.#inFlight += 1;
    try {
      return await this.#make(sql, values);
    } finally {
      // Pass the slot to the next waiter.
      const [next] = this.#waiting;
      if (next) next();
      else this.#inFlight -= 1;
    }
  }

  async #place(): Promise<void> {
    const { answerMs } = this.#options;
    return new Promise((resolve, reject) => {
      const take = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(take);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(take);
        reject(new Error(`all connections were busy for ${answerMs / 1000} seconds`));
      }, answerMs).unref();
      this.#waiting.add(take);
    });
  }

  async #make(sql: string, values: SqlValue[]): Promise<Row[]> {
    const client = this.#client;
    const { answerMs } = this.#options;
    const hung = new AbortController();
    const timeout = delay(answerMs, undefined, { signal: hung.signal, ref: false }).then(() => {
      this.#replace(client, { lastSeconds: 0 });
      throw new Error(`no answer within ${answerMs / 1000} seconds`);
    });
    timeout.catch(() => {});
    try {
      return await Promise.race([client.unsafe(sql, values, { prepare: true }), timeout]);
    } catch (error) {
      // Read-only: after a failover, others lead to the new primary. Lost: if the driver had something to write at that moment, it
      // would never write on that connection again, and each attempt would end only after the time for connecting.
      if (!isDatabaseError(error) || codeOf(error) === READ_ONLY)
        this.#replace(client, { lastSeconds: answerMs / 1000 });
      throw error;
    } finally {
      hung.abort();
    }
  }

  /** `lastSeconds`: how long running statements on the other connections may still take. */
  #replace(client: PostgresClient, { lastSeconds }: { lastSeconds: number }): void {
    if (client !== this.#client || this.#closing) return;
    this.#client = this.#options.connect();
    void client.end({ timeout: lastSeconds });
  }

  close(): Promise<void> {
    this.#closing ??= this.#client.end({ timeout: LAST_SECONDS });
    return this.#closing;
  }
}

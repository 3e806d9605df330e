/** The driver, an optional dependency that is loaded on first use, so that SQLite users do not pay for it. */

import type { Duplex } from 'node:stream';
import { codeOf } from '../../lib/log.ts';
import type { SqlValue } from '../sql-value.ts';
import { StoreError } from '../store-error.ts';

export type Row = Record<string, unknown>;

/** The part of `postgres` that the store uses. */
export interface PostgresClient {
  unsafe(sql: string, values?: SqlValue[], options?: { prepare?: boolean }): Promise<Row[]>;
  /** Ends the connections once they are idle, or after the timeout in seconds. */
  end(options: { timeout: number }): Promise<void>;
}

export interface ClientOptions {
  max: number;
  /** Opens one that is ready for the first message. */
  socket: () => Promise<Duplex>;
  /** With more than one, the driver would retry them forever. */
  host: [string];
  port: [number];
  ssl: false;
  connect_timeout: number;
  backoff: number;
  max_lifetime: null;
  fetch_types: boolean;
  connection: Record<string, string>;
  onnotice: () => void;
  onnotify?: (channel: string, payload: string) => void;
  onclose?: () => void;
}

export type Driver = (url: string, options: ClientOptions) => PostgresClient;

/** Not a literal: it must neither be bundled, nor be needed to check the types. */
const DRIVER: string = 'postgres';

/** `store` is for messages. */
export async function loadDriver(store: string, module = DRIVER): Promise<Driver> {
  try {
    const { default: driver } = (await import(/* @vite-ignore */ module)) as { default: Driver };
    return driver;
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new StoreError(
      'STORE_UNUSABLE',
      `${store}: the driver for PostgreSQL is not installed; run \`npm install postgres@3\` where meanwhile is installed ` +
        '(with --global, if meanwhile is)',
    );
  }
}

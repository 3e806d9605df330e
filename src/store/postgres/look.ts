/** A store opened read-only; gateways may be using it. */

import { StoreError } from '../store-error.ts';
import { Database } from './database.ts';
import type { Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { openFailure, readFailure } from './failure.ts';
import { storedVersion } from './schema.ts';

export interface Look {
  /** The database without secrets. */
  name: string;
  schemaVersion: number;
  /** Runs a statement without a time limit. */
  read: (sql: string, values?: SqlValue[]) => Promise<Row[]>;
  close: () => Promise<void>;
}

export async function openToLook(url: string): Promise<Look> {
  const db = await Database.open(url);
  try {
    const schemaVersion = await storedVersion(db);
    if (schemaVersion === undefined) throw missing(db.name);
    const client = db.connect({ max: 1, parameters: { default_transaction_read_only: 'on' } });
    const { name } = db;
    return {
      name,
      schemaVersion,
      read: async (sql, values = []) =>
        client.unsafe(sql, values, { prepare: true }).catch((error: unknown) => {
          throw readFailure(name, error);
        }),
      close: async () => {
        await client.end({ timeout: 1 });
        await db.close();
      },
    };
  } catch (error) {
    await db.close();
    throw openFailure(db.name, error);
  }
}

function missing(store: string): StoreError {
  return new StoreError(
    'STORE_MISSING',
    `${store}: no store; \`meanwhile serve --store\` creates one in the database, or check the URL`,
  );
}

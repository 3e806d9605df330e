import { StoreError } from '../store-error.ts';
import { toStoreError } from './database.ts';
import type { PreparedStatements } from './statements.ts';

export type Row = Record<string, unknown>;
type Value = string | number | null;

/** Makes statements, and names the file of the store in their errors. */
export class CheckedStatements {
  readonly #prepared: PreparedStatements;
  readonly #path: string;

  constructor(prepared: PreparedStatements, path: string) {
    this.#prepared = prepared;
    this.#path = path;
  }

  rows(sql: string, ...values: readonly Value[]): Row[] {
    return this.check(() => this.#prepared.get(sql).all(...values) as Row[]);
  }

  run(sql: string, ...values: readonly Value[]): void {
    this.check(() => this.#prepared.get(sql).run(...values));
  }

  /** For several statements together. */
  check<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.failure(error);
    }
  }

  failure(error: unknown): StoreError {
    return error instanceof StoreError ? error : toStoreError(this.#path, error);
  }
}

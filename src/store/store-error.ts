export type StoreErrorCode =
  | 'STORE_TOO_NEW'
  | 'STORE_NOT_OURS'
  | 'STORE_MISSING'
  | 'STORE_UNUSABLE'
  | 'STORE_IN_USE'
  | 'STORE_DAMAGED'
  | 'STORE_GONE'
  | 'STORE_MIGRATION_FAILED'
  | 'STORE_WRITE_FAILED'
  | 'STORE_CLOSED'
  | 'STORE_CLAIM_LOST';

/** What goes wrong with a store. The code is stable; the message names the place and what to do about it. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

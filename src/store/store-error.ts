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

/** A failure of the store. The code is stable; the message names the file and the fix. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

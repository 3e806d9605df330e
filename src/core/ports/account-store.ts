/** The stored secrets of accounts on servers. Every store implements it. */

/**
 * `client`: a registration with an authorization server; `tokens`: the tokens of an account; `sign_in`: a pending sign-in; `refused`: sign-ins
 * whose tokens the server refused at once.
 */
export type AccountRecordKind = 'client' | 'tokens' | 'sign_in' | 'refused';

export interface AccountRecord {
  kind: AccountRecordKind;
  id: string;
  /** The owner and the server; the principal is empty for a registration, which is shared. */
  principal: string;
  server: string;
  createdAt: number;
  /** After this time the record counts as absent; without it, the record never expires. */
  keepUntil?: number;
  /** Encrypted. */
  data: string;
}

export interface StoredAccountRecord extends AccountRecord {
  /** Changes with each write. */
  version: string;
}

/** What happened to tokens; only `signed_in` completes a pending sign-in. */
export type TokensChange = 'signed_in' | 'signed_out' | 'renewed';

export interface ChangedTokens {
  principal: string;
  server: string;
  what: TokensChange;
}

/** Called when another gateway has changed tokens; without a value, any tokens may have changed. */
export type TokensWatcher = (changed?: ChangedTokens) => void;

/** Stores accounts on servers. Only a caller that knows the version of a record can change it. */
export interface AccountStore {
  isEmpty(): Promise<boolean>;
  get(kind: AccountRecordKind, id: string, now: number): Promise<StoredAccountRecord | undefined>;
  /** The oldest first. */
  list(
    kind: AccountRecordKind,
    filter: { principal?: string; server?: string },
    now: number,
  ): Promise<StoredAccountRecord[]>;
  /**
   * Writes the record if its version is `expected`, if there is none (`'none'`), or always (`'any'`). Resolves with the new version, or with
   * `undefined` if the record was changed or deleted meanwhile. Ends the claim of the record.
   */
  put(record: AccountRecord, expected: { version: string } | 'none' | 'any', now: number): Promise<string | undefined>;
  /** Deletes the record if it has this version and, with `by`, if that caller still holds the claim. */
  drop(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'principal' | 'server' | 'version'>,
    by?: string,
  ): Promise<boolean>;
  /**
   * Until it expires, no other caller can claim the record. `false` if it was claimed, changed or deleted meanwhile. A shared store uses
   * its own clock, because the clocks of the gateways may differ.
   */
  claim(
    record: Pick<StoredAccountRecord, 'kind' | 'id' | 'version'>,
    claim: { by: string; now: number; ms: number },
  ): Promise<boolean>;
  /** Ends a claim early. */
  release(record: Pick<AccountRecord, 'kind' | 'id'>, by: string): Promise<void>;
  /** Deletes expired records, then the oldest sign-ins beyond the limits per principal and in total. */
  trim(now: number, most: { perPrincipal: number; total: number }): Promise<void>;
  /**
   * Reports token changes by other gateways until the returned function is called: a write with an expected version is a renewal,
   * any other write a sign-in.
   */
  watch(watcher: TokensWatcher): () => void;
}

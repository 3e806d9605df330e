/** Classifies failures of the database and names the fix. Passwords never appear in a message. */

import { codeOf, messageOf } from '../../lib/log.ts';
import { StoreError, type StoreErrorCode } from '../store-error.ts';

/** The database is read-only. */
export const READ_ONLY = '25006';

/** The fixes for failures to open the store, by error code. */
const ON_OPENING: readonly [codes: RegExp, code: StoreErrorCode, fix: string][] = [
  [
    /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ECONNRESET|ENOENT|CONNECT(?:_TIMEOUT|ION_CLOSED)|NOT_POSTGRES)$/,
    'STORE_UNUSABLE',
    'check host and port, and that PostgreSQL is running',
  ],
  [/^TLS_FILE$/, 'STORE_UNUSABLE', 'correct the file, or its name in the URL'],
  [
    /^TLS_NOT_OFFERED$/,
    'STORE_UNUSABLE',
    'enable TLS on the server (ssl = on in postgresql.conf), or disable it in the URL: sslmode=disable',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'STORE_UNUSABLE',
    "the server's certificate is for another host: use a host name from the certificate in the URL, or skip this check: sslmode=verify-ca",
  ],
  [
    /^(?:CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    'STORE_UNUSABLE',
    "renew the server's certificate, or correct the clock of this machine",
  ],
  [
    /^(?:\w*SELF_SIGNED_CERT\w*|UNABLE_TO_\w+|CERT_\w+|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_EXCEEDED)$/,
    'STORE_UNUSABLE',
    "the server's certificate is not trusted: name the certificate of its authority with sslrootcert=FILE in the URL",
  ],
  [
    /^ERR_SSL_\w*ALERT\w*(?:CERTIFICATE|UNKNOWN_CA)/,
    'STORE_UNUSABLE',
    'the server rejects the certificate of this gateway, or requires one: check sslcert and sslkey in the URL',
  ],
  [/^(?:EPROTO|ERR_SSL_\w+)$/, 'STORE_UNUSABLE', 'TLS failed: check the TLS settings of the server'],
  [
    /^NO_SUCH_HOST$/,
    'STORE_UNUSABLE',
    'check that the primary is among the hosts of the URL, and target_session_attrs=read-write',
  ],
  [/^28/, 'STORE_UNUSABLE', 'check user and password in the URL, and pg_hba.conf of the server'],
  [/^3D000$/, 'STORE_MISSING', 'create the database, or check its name in the URL'],
  [
    /^42501$/,
    'STORE_UNUSABLE',
    'connect as the owner of the schema "meanwhile", or grant the user the role of the owner: GRANT <owner> TO <user>',
  ],
  [/^25006$/, 'STORE_UNUSABLE', 'the database is read-only: use the URL of the primary'],
  [
    /^08P01$/,
    'STORE_UNUSABLE',
    'a pooler must pass connection parameters through: with PgBouncer, set ignore_startup_parameters = statement_timeout',
  ],
  [
    /^53300$/,
    'STORE_UNUSABLE',
    'a gateway needs 7 connections, 8 with `audit`: raise max_connections of the server and CONNECTION LIMIT of user and database, or stop ' +
      'other programs that use them',
  ],
];

const CHECK_URL = 'check the URL: postgres://user:password@host:5432/database';

export function openFailure(store: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const about = ON_OPENING.find(([codes]) => codes.test(String(codeOf(error))));
  const [, code = 'STORE_UNUSABLE', fix = CHECK_URL] = about ?? [];
  return new StoreError(code, `${store}: the store cannot be opened: ${reasonOf(error)}; ${fix}`);
}

/** The error of a connection that failed on several addresses has no useful message. */
function reasonOf(error: unknown): string {
  const message = messageOf(error);
  return message === '' ? String(codeOf(error)) : message;
}

export function readFailure(store: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError('STORE_UNUSABLE', `${store}: the store cannot be read: ${reasonOf(error)}; check the database`);
}

/** PostgreSQL errors have codes of five characters with a digit, unlike EPIPE. Others are connection errors. */
export const isDatabaseError = (error: unknown): boolean => /^(?=.*\d)[0-9A-Z]{5}$/.test(String(codeOf(error)));

/**
 * The statement may succeed when it is made again: the connection was lost, it took too long (57014), others have all
 * connections (53300), or the server is stopping, starting, or not the primary any more.
 */
export function mayPass(error: unknown): boolean {
  return !isDatabaseError(error) || /^(?:08|53300|57P|57014|40|55P03|25006)/.test(String(codeOf(error)));
}

/**
 * It is the record that cannot be stored, and never will be: it is too large, say, for a statement, or for the memory of the
 * server (XX000).
 */
export function isOfTheRecord(error: unknown): boolean {
  return error instanceof RangeError || /^(?:21|22|23|54|XX000$)/.test(String(codeOf(error)));
}

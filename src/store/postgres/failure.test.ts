import { expect, it } from 'vitest';
import { isOfTheRecord, mayPass, openFailure } from './failure.ts';

const withCode = (code: string): Error => Object.assign(new Error(code), { code });

it.each(['EPIPE', 'ECONNRESET', 'CONNECTION_CLOSED', '57P01', '40001', '53300'])(
  'K-7: %s is a temporary failure',
  (code) => {
    expect(mayPass(withCode(code))).toBe(true);
  },
);

it.each(['42P01', '42501', 'XX000', 'P0001'])('K-7: %s is not a temporary failure', (code) => {
  expect(mayPass(withCode(code))).toBe(false);
});

it('X-4: a record that is too large for a statement is a failure of the record', () => {
  expect([new RangeError('Invalid string length'), withCode('54000'), withCode('XX000')].map(isOfTheRecord)).toEqual([
    true,
    true,
    true,
  ]);
  expect(isOfTheRecord(withCode('42P01'))).toBe(false);
});

it.each([
  ['CONNECTION_CLOSED', 'check host and port'],
  ['NOT_POSTGRES', 'check host and port'],
  ['TLS_NOT_OFFERED', 'ssl = on'],
  ['TLS_FILE', 'correct the file'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'for another host'],
  ['CERT_HAS_EXPIRED', "renew the server's certificate"],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'sslrootcert=FILE'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'sslrootcert=FILE'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'sslrootcert=FILE'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'sslrootcert=FILE'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'check sslcert and sslkey'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'check sslcert and sslkey'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'TLS settings of the server'],
  ['NO_SUCH_HOST', 'target_session_attrs'],
])('K-1: the error for a store that fails to open with %s contains: %s', (code, fix) => {
  expect(openFailure('postgres://db/x', withCode(code)).message).toContain(fix);
});

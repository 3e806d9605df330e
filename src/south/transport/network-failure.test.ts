import { expect, test } from 'vitest';
import { GatewayError } from '../../core/errors.ts';
import { networkFailure } from './network-failure.ts';

const withCode = (code: string): NodeJS.ErrnoException => Object.assign(new Error('connect'), { code });

test.each([
  ['ECONNREFUSED', 'refused'],
  ['ECONNRESET', 'closed'],
  ['ENOTFOUND', 'dns'],
  ['EAI_AGAIN', 'dns'],
  ['EHOSTUNREACH', 'no_route'],
  ['ENETUNREACH', 'no_route'],
  ['ETIMEDOUT', 'no_route'],
  ['CERT_HAS_EXPIRED', 'tls_untrusted'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_untrusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_untrusted'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_untrusted'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
  ['EPROTO', 'tls'],
  ['HPE_INVALID_CONSTANT', 'other'],
])('B-1: the error code %s is a failure of the kind %s', (code, failure) => {
  expect(networkFailure(withCode(code)).failure).toBe(failure);
});

test('B-1: known network error codes get a readable message, and others keep theirs', () => {
  expect(networkFailure(withCode('ECONNREFUSED')).message).toBe('connection refused (ECONNREFUSED)');
  expect(networkFailure(withCode('CERT_HAS_EXPIRED')).message).toBe('CERT_HAS_EXPIRED');
  const invalid = Object.assign(new Error('invalid x-key header'), { code: 'UND_ERR_INVALID_ARG' });
  expect(networkFailure(invalid).message).toBe('invalid x-key header (UND_ERR_INVALID_ARG)');
  expect(networkFailure(new Error('aborted'))).toEqual({ failure: 'other', message: 'aborted' });
});

test('B-1: an address that is not allowed is a failure of the kind not_allowed', () => {
  const error = new GatewayError('TOOL_ERR_NOT_ALLOWED', "'x' is not at a public address");
  expect(networkFailure(error)).toEqual({ failure: 'not_allowed', message: "'x' is not at a public address" });
});

import { GatewayError } from '../../core/errors.ts';
import type { ServerFailureKind } from '../../lib/server-failure.ts';

interface NetworkFailure {
  failure: ServerFailureKind;
  message: string;
}

const ERRNO: Record<string, NetworkFailure> = {
  ECONNREFUSED: { failure: 'refused', message: 'connection refused' },
  ECONNRESET: { failure: 'closed', message: 'the connection was reset' },
  ENOTFOUND: { failure: 'dns', message: 'no such host' },
  EAI_AGAIN: { failure: 'dns', message: 'the host name cannot be resolved' },
  EHOSTUNREACH: { failure: 'no_route', message: 'there is no route to the host' },
  ENETUNREACH: { failure: 'no_route', message: 'there is no route to the network' },
  ETIMEDOUT: { failure: 'no_route', message: 'the host does not answer' },
};

/** The codes with which Node reports a certificate that does not verify. */
const UNTRUSTED = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_FORMAT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** undici's code for a connection that the server closed. */
const CLOSED = 'UND_ERR_SOCKET';

/** undici's message for a response that it does not accept: HTTP 100, or a response without a request. */
const BAD_RESPONSE = 'bad response';
const INVALID_RESPONSE = 'the server sent an invalid HTTP response, such as an unexpected 100 Continue';

/** Why an HTTP request did not get through. The message keeps the code, which people look up. */
export function networkFailure(error: NodeJS.ErrnoException): NetworkFailure {
  if (error instanceof GatewayError) return { failure: 'not_allowed', message: error.message };
  const { message } = error;
  if (error.code === CLOSED && message === BAD_RESPONSE) return { failure: 'other', message: INVALID_RESPONSE };
  const code = error.code === CLOSED ? 'ECONNRESET' : error.code;
  if (code === undefined) return { failure: 'other', message };
  const known = ERRNO[code];
  if (known !== undefined) return { failure: known.failure, message: `${known.message} (${code})` };
  // The errors of undici say more than their codes.
  if (code.startsWith('UND_ERR_')) return { failure: 'other', message: `${message} (${code})` };
  return { failure: kindOfTlsCode(code), message: code };
}

function kindOfTlsCode(code: string): ServerFailureKind {
  if (UNTRUSTED.has(code)) return 'tls_untrusted';
  return code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') ? 'tls' : 'other';
}

/** Parses the `WWW-Authenticate` header of a refused request (RFC 9110, RFC 6750, RFC 9728). */

import type { AuthChallenge } from '../../core/ports/accounts.ts';
import type { HttpAnswer } from './http-pool.ts';

/** Longer headers are ignored. */
const MAX_CHARS = 16_384;

/**
 * The challenge in a refusal; `undefined` if the server did not refuse, or if another token would not help. A 403 concerns tokens only
 * if it has a bearer challenge.
 */
export function challengeIn({ status, headers }: Pick<HttpAnswer, 'status' | 'headers'>): AuthChallenge | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const header = headers['www-authenticate'];
  const parameters = bearerParameters(Array.isArray(header) ? header.join(', ') : (header ?? ''));
  if (status === 403 && parameters === undefined) return undefined;
  const { error, scope, resource_metadata: resourceMetadata } = parameters ?? {};
  return {
    status,
    ...(error !== undefined && { error }),
    ...(scope !== undefined && scope !== '' && { scope }),
    ...(resourceMetadata !== undefined && { resourceMetadata }),
  };
}

/** `scheme` or `name=value`, with the preceding separator. */
const PART = /[\s,]*([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/y;

/** The parameters of the first bearer challenge, with names in lower case. */
function bearerParameters(header: string): Record<string, string> | undefined {
  if (header.length > MAX_CHARS) return undefined;
  let found: Record<string, string> | undefined;
  PART.lastIndex = 0;
  for (let part = PART.exec(header); part !== null; part = PART.exec(header)) {
    const [, name = '', quoted, plain] = part;
    const value = quoted === undefined ? plain : quoted.replaceAll(/\\(.)/g, '$1');
    if (value === undefined) {
      // Another scheme starts.
      if (found !== undefined) return found;
      if (name.toLowerCase() === 'bearer') found = {};
    } else if (found !== undefined) found[name.toLowerCase()] ??= value;
  }
  return found;
}

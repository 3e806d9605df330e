import type { IncomingMessage } from 'node:http';
import { canBeNamed, statesKey } from '../../core/cluster/claims.ts';
import { MODERN_VERSION } from '../../lib/protocol.ts';

/** What a gateway must own to serve this request, as far as its headers tell. An `initialize` can be served by any. */
export function keyOf({ headers, method }: IncomingMessage, principal: string): string | undefined {
  const sessionId = headers['mcp-session-id'];
  if (typeof sessionId === 'string') return canBeNamed(sessionId) ? sessionId : undefined;
  if (method !== 'POST' || headers['mcp-protocol-version'] !== MODERN_VERSION) return undefined;
  const named = headers['mcp-method'];
  return named === undefined || named === 'initialize' ? undefined : statesKey(principal);
}

import type { IncomingMessage } from 'node:http';
import { canBeNamed, statesKey } from '../../core/cluster/claims.ts';
import { MODERN_VERSION } from '../../lib/protocol.ts';

/** The claim that a gateway must hold to serve this request, according to its headers. Any gateway can serve `initialize`. */
export function requiredClaim({ headers, method }: IncomingMessage, principal: string): string | undefined {
  const sessionId = headers['mcp-session-id'];
  if (typeof sessionId === 'string') return canBeNamed(sessionId) ? sessionId : undefined;
  if (method !== 'POST' || headers['mcp-protocol-version'] !== MODERN_VERSION) return undefined;
  const named = headers['mcp-method'];
  return named === undefined || named === 'initialize' ? undefined : statesKey(principal);
}

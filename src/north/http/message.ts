import type { IncomingMessage } from 'node:http';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  PROTOCOL_VERSION_META_KEY,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server';
import { isObject } from '../../lib/values.ts';
import { MODERN_VERSION } from '../../lib/protocol.ts';

type Era = 'legacy' | 'modern';

const MAX_BATCH = 100;

/**
 * The era of a POST, decided once and here. A message of the new era says so itself, in its metadata. Headers alone say
 * nothing as long as there is a session or one is being started, for clients of the old era send them too; otherwise the
 * message is not valid, and it is the new era's place to tell.
 */
export function eraOf(req: IncomingMessage, body: unknown): Era {
  const messages = asArray(body);
  if (messages.some(claimsVersion)) return 'modern';
  if (req.headers['mcp-session-id'] !== undefined) return 'legacy';
  if (messages.some((message) => field(message, 'method') === 'initialize')) return 'legacy';
  const version = req.headers['mcp-protocol-version'];
  const claimed =
    req.headers['mcp-method'] !== undefined ||
    (typeof version === 'string' && version >= MODERN_VERSION && /^\d{4}-\d\d-\d\d$/.test(version));
  return claimed ? 'modern' : 'legacy';
}

/** Why a body of the old era is neither a JSON-RPC message nor a batch; `undefined` if it is one. */
export function messageMistake(body: unknown): string | undefined {
  const messages = asArray(body);
  if (messages.length > MAX_BATCH) return `a batch has at most ${MAX_BATCH} messages`;
  return messages.length > 0 && messages.every(isMessage) ? undefined : 'not a JSON-RPC 2.0 message';
}

function asArray(body: unknown): unknown[] {
  return Array.isArray(body) ? body : [body];
}

function claimsVersion(message: unknown): boolean {
  const meta = field(field(message, 'params'), '_meta');
  return field(meta, PROTOCOL_VERSION_META_KEY) !== undefined;
}

function field(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Checked as the SDK does, which drops everything else without a response. */
export function isMessage(body: unknown): body is JSONRPCMessage {
  if (!isObject(body)) return false;
  if ('method' in body) return 'id' in body ? isJSONRPCRequest(body) : isJSONRPCNotification(body);
  return isJSONRPCResultResponse(body) || isJSONRPCErrorResponse(body);
}

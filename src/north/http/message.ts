import type { IncomingMessage } from 'node:http';
import { isObject } from '../../lib/values.ts';
import { MODERN_VERSION, VERSION_KEY } from '../../lib/protocol.ts';
import { isMessage } from '../message.ts';

type Era = 'legacy' | 'modern';

const MAX_BATCH = 100;

/**
 * Decides the era of a POST, once. A modern message declares its era in its metadata. Headers alone mean
 * nothing while there is a session or one is being started, because legacy clients send them too; otherwise the
 * message is invalid, and the modern era reports that.
 */
export function eraOf({ headers }: Pick<IncomingMessage, 'headers'>, body: unknown): Era {
  if (anyOf(body, claimsVersion)) return 'modern';
  if (headers['mcp-session-id'] !== undefined) return 'legacy';
  if (anyOf(body, isInitialize)) return 'legacy';
  const version = headers['mcp-protocol-version'];
  const claimed =
    headers['mcp-method'] !== undefined ||
    (typeof version === 'string' && version >= MODERN_VERSION && /^\d{4}-\d\d-\d\d$/.test(version));
  return claimed ? 'modern' : 'legacy';
}

/** Why a legacy body is neither a JSON-RPC message nor a batch; `undefined` if it is valid. */
export function messageMistake(body: unknown): string | undefined {
  if (Array.isArray(body) && body.length > MAX_BATCH) return `a batch has at most ${MAX_BATCH} messages`;
  const isValid = Array.isArray(body) ? body.length > 0 && body.every(isMessage) : isMessage(body);
  return isValid ? undefined : 'not a JSON-RPC 2.0 message';
}

function anyOf(body: unknown, matches: (message: unknown) => boolean): boolean {
  return Array.isArray(body) ? body.some(matches) : matches(body);
}

function isInitialize(message: unknown): boolean {
  return field(message, 'method') === 'initialize';
}

function claimsVersion(message: unknown): boolean {
  return field(field(field(message, 'params'), '_meta'), VERSION_KEY) !== undefined;
}

function field(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

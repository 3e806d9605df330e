/** Validates a POST of a modern client, and explains mistakes. */

import type { IncomingHttpHeaders } from 'node:http';
import { isText } from '../../lib/exact-json.ts';
import { MODERN_VERSION, VERSION_KEY } from '../../lib/protocol.ts';
import {
  HEADER_MISMATCH,
  INVALID_PARAMS,
  INVALID_REQUEST,
  UNSUPPORTED_VERSION,
  type RpcFailure,
} from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import { metaMistake, type ClientInfoMistake } from '../client-info.ts';
import {
  idOf,
  isMessage,
  isRequest,
  type NotificationMessage,
  type Params,
  type RequestId,
  type RequestMessage,
} from '../message.ts';

export interface Rejection {
  /** The id of the request, if it can be read. */
  id: RequestId | null;
  error: RpcFailure;
}

export type Verdict =
  | { kind: 'valid'; message: RequestMessage | NotificationMessage }
  /** A notification of the older protocol, which gets no error. */
  | { kind: 'ignored' }
  | { kind: 'rejected'; rejection: Rejection };

/** The parameter that the header `Mcp-Name` repeats. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

export function validate(headers: IncomingHttpHeaders, body: unknown): Verdict {
  const found = check(headers, body);
  return 'code' in found ? { kind: 'rejected', rejection: { id: idOf(body) ?? null, error: found } } : found;
}

type Found = Exclude<Verdict, { kind: 'rejected' }> | RpcFailure;

function check(headers: IncomingHttpHeaders, body: unknown): Found {
  if (Array.isArray(body)) return rejected(INVALID_REQUEST, 'Bad Request: JSON-RPC batches are not supported');
  if (!isMessage(body)) {
    return rejected(INVALID_REQUEST, 'Bad Request: the request body is not a valid JSON-RPC message');
  }
  if (!('method' in body)) {
    return rejected(INVALID_REQUEST, 'Bad Request: JSON-RPC responses cannot be posted to this endpoint');
  }
  return isRequest(body) ? validateRequest(headers, body) : validateNotification(headers, body);
}

function validateRequest(headers: IncomingHttpHeaders, message: RequestMessage): Found {
  const meta = message.params?.['_meta'];
  if (!isObject(meta) || !(VERSION_KEY in meta))
    return withoutClaim(headers, message, isObject(meta) ? meta : undefined);
  const mistake = metaMistake(meta);
  if (mistake !== undefined) {
    if (message.method === 'initialize') return withoutClaim(headers, message, meta);
    return invalidEnvelope(mistake);
  }
  return claimMistake(headers, message, String(meta[VERSION_KEY])) ?? { kind: 'valid', message };
}

/** The mistake in a request that declares its protocol version. */
function claimMistake(
  headers: IncomingHttpHeaders,
  { method, params }: RequestMessage,
  version: string,
): RpcFailure | undefined {
  const inHeader = headers['mcp-protocol-version'];
  if (inHeader !== undefined && inHeader !== version) return versionMismatch(inHeader, version);
  if (isOther(headers['mcp-method'], method)) return methodMismatch(headers['mcp-method'], method);
  if (version !== MODERN_VERSION) return unsupported(version);
  if (inHeader === undefined) {
    return mismatch(
      MISSING,
      `the body envelope names protocol version ${version} but the required MCP-Protocol-Version header is absent`,
    );
  }
  if (headers['mcp-method'] === undefined) {
    return mismatch(MISSING, `the body names method ${method} but the required Mcp-Method header is absent`);
  }
  const field = NAMED_BY.get(method);
  return field === undefined ? undefined : nameMistake(headers['mcp-name'], field, params?.[field]);
}

const MISSING = '(missing)';

function nameMistake(header: string | string[] | undefined, field: string, value: unknown): RpcFailure | undefined {
  const given = header?.toString();
  const named = given === undefined ? undefined : decoded(given);
  if (given !== undefined && named === undefined) {
    return mismatch(given, 'the Mcp-Name header carries an invalid Base64 sentinel value');
  }
  if (!isText(value) || named === value) return undefined;
  const body = `the body carries params.${field}="${value}" but`;
  if (given === undefined) return mismatch(MISSING, `${body} the required Mcp-Name header is absent`);
  return mismatch(given, `${body} the Mcp-Name header names "${named}"`);
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** The decoded value of a header; values with characters that are not allowed in headers are encoded. */
function decoded(header: string): string | undefined {
  if (!header.startsWith('=?base64?') || !header.endsWith('?=')) return header;
  const [, encoded] = ENCODED.exec(header) ?? [];
  if (encoded === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}

/** A request that does not validly declare its protocol version. */
function withoutClaim(
  headers: IncomingHttpHeaders,
  { method, params }: RequestMessage,
  meta: Params | undefined,
): Found {
  const inHeader = headers['mcp-protocol-version'];
  const namesModern = isModern(inHeader);
  if (method === 'initialize') {
    if (namesModern) {
      return mismatch(
        String(inHeader),
        'an initialize request (legacy handshake) was sent with a modern MCP-Protocol-Version header',
      );
    }
    const requested = params?.['protocolVersion'];
    return unsupported(typeof requested === 'string' ? requested : undefined);
  }
  if (!namesModern) return unsupported(inHeader?.toString());
  const missing = meta === undefined ? ['_meta'] : missingIn(meta);
  const text = `the MCP-Protocol-Version header names protocol revision ${String(inHeader)}, but the request is missing the required per-request envelope key(s): ${missing.join(', ')}`;
  return rejected(INVALID_PARAMS, `Invalid params: ${text}`, { envelope: { missing } });
}

function missingIn(meta: Params): string[] {
  const mistake = metaMistake({ ...meta, [VERSION_KEY]: MODERN_VERSION });
  return [VERSION_KEY, ...(mistake?.problem === 'missing' ? [mistake.key] : [])];
}

function validateNotification(headers: IncomingHttpHeaders, message: NotificationMessage): Found {
  const { method, params } = message;
  const inHeader = headers['mcp-protocol-version'];
  const meta = params?.['_meta'];
  const claims = isObject(meta) && VERSION_KEY in meta;
  if (!claims && !isModern(inHeader)) return { kind: 'ignored' };
  const version = claims ? meta[VERSION_KEY] : inHeader;
  if (!isText(version)) {
    return invalidEnvelope({ key: VERSION_KEY, problem: 'expected a protocol version string' });
  }
  if (inHeader !== undefined && inHeader !== version) return versionMismatch(inHeader, version);
  if (isModern(version) && isOther(headers['mcp-method'], method)) return methodMismatch(headers['mcp-method'], method);
  return version === MODERN_VERSION ? { kind: 'valid', message } : unsupported(version);
}

/** Versions are dates, which sort as strings. */
function isModern(version: string | string[] | undefined): boolean {
  return typeof version === 'string' && version >= MODERN_VERSION;
}

function isOther(header: string | string[] | undefined, value: string): boolean {
  return header !== undefined && header !== value;
}

function versionMismatch(header: string | string[], version: string): RpcFailure {
  const named = String(header);
  return mismatch(
    named,
    `the body envelope names protocol version ${version} but the MCP-Protocol-Version header names ${named}`,
  );
}

function methodMismatch(header: string | string[] | undefined, method: string): RpcFailure {
  const named = String(header);
  return mismatch(named, `the body names method ${method} but the Mcp-Method header names ${named}`);
}

function mismatch(header: string, body: string): RpcFailure {
  const message = `Bad Request: the request headers and body disagree: ${body}`;
  return rejected(HEADER_MISMATCH, message, { mismatch: { header, body } });
}

export function invalidEnvelope(mistake: ClientInfoMistake): RpcFailure {
  const { key, problem } = mistake;
  const message = `Invalid _meta envelope for protocol revision ${MODERN_VERSION}: ${key}: ${problem}`;
  return rejected(INVALID_PARAMS, message, { envelope: mistake });
}

export function unsupported(requested: string | undefined): RpcFailure {
  const why = requested ?? 'the request did not name a protocol version';
  const data = { supported: [MODERN_VERSION], ...(requested !== undefined && { requested }) };
  return { code: UNSUPPORTED_VERSION, message: `Unsupported protocol version: ${why}`, data };
}

function rejected(code: number, message: string, data?: unknown): RpcFailure {
  return { code, message, ...(data !== undefined && { data }) };
}

import type { IncomingHttpHeaders } from 'node:http';
import { DELIVERY, FORWARDED } from '../http/addressed.ts';

/** Connection headers, and those that the first gateway has handled. */
const NOT_FORWARDED = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'origin',
  'authorization',
  'cookie',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  FORWARDED,
  DELIVERY,
]);

const NOT_RETURNED = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function requestHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return without(headers, NOT_FORWARDED);
}

export function responseHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return without(headers, NOT_RETURNED);
}

function without(headers: IncomingHttpHeaders, left: ReadonlySet<string>): IncomingHttpHeaders {
  const kept: IncomingHttpHeaders = {};
  // The header `Connection` may name others that belong to the connection.
  const named = headers.connection?.toLowerCase() ?? '';
  for (const name in headers) {
    if (!left.has(name) && !(named.includes(name) && isListed(name, named))) kept[name] = headers[name];
  }
  return kept;
}

function isListed(name: string, list: string): boolean {
  return list.split(',').some((each) => each.trim() === name);
}

/**
 * Requests to addresses that servers name. A server must not use the gateway to reach internal addresses: every request goes to an
 * address that was checked, over https unless it stays on this machine, and is limited in time and size.
 */

import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { checkedLookup } from '../../lib/checked-lookup.ts';
import { messageOf } from '../../lib/log.ts';
import { redactUrl } from '../../lib/redact.ts';
import { isSecureUrl } from '../../lib/secure-url.ts';
import { isObject } from '../../lib/values.ts';
import { VERSION } from '../../lib/version.ts';
import { AuthFailure } from './failure.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_048_576;
const MAX_REDIRECTS = 3;

export interface SafeRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

export interface SafeResponse {
  status: number;
  text: string;
}

/** Whether a connection to this host may go to this address. */
export type MayReach = (address: string, host: string) => boolean;

export interface SafeFetchOptions {
  mayReach: MayReach;
  /** The origin of the server itself, which is allowed without https, since it gets other requests that way anyway. */
  origin?: string | undefined;
  timeoutMs?: number;
}

export type SafeFetch = (url: string, request?: SafeRequest) => Promise<SafeResponse>;

export function createSafeFetch({ mayReach, origin, timeoutMs = TIMEOUT_MS }: SafeFetchOptions): SafeFetch {
  return async (url, request = {}) => {
    const signal = AbortSignal.timeout(timeoutMs);
    let target = checkedUrl(url, origin);
    for (let redirects = 0; ; redirects += 1) {
      const { response, text } = await send(target, request, mayReach, signal);
      const next = redirectOf(response, target);
      if (next === undefined) return { status: response.statusCode ?? 0, text };
      // A body with credentials must not be redirected, and the documents of an origin must come from that origin.
      if (request.method === 'POST' || redirects === MAX_REDIRECTS || next.origin !== target.origin)
        throw new AuthFailure(`${shown(target)} redirects to ${shown(next)}, which is not followed`);
      target = next;
    }
  };
}

function checkedUrl(text: string, origin: string | undefined): URL {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) throw new AuthFailure(`not a URL: ${redactUrl(text)}`);
  const url = new URL(text);
  if (!isSecureUrl(text) && url.origin !== origin) throw new AuthFailure(`${shown(url)} is not an https:// address`);
  if (url.username !== '' || url.password !== '') throw new AuthFailure(`${shown(url)} has credentials in it`);
  return url;
}

async function send(
  url: URL,
  { method = 'GET', headers, body }: SafeRequest,
  mayReach: MayReach,
  signal: AbortSignal,
): Promise<{ response: IncomingMessage; text: string }> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !mayReach(host, host)) throw notAllowed(url);
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  try {
    return await new Promise((resolve, reject) => {
      const sent = request(url, {
        method,
        headers: {
          accept: 'application/json',
          'user-agent': `meanwhile/${VERSION}`,
          ...headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
        // A new connection for each request, to the address that was checked for it. Such requests are rare.
        agent: false,
        signal,
        lookup: checkedLookup(
          (address) => mayReach(address, host),
          () => notAllowed(url),
        ),
      });
      sent.on('response', (response) => {
        read(response)
          .then((text) => resolve({ response, text }), reject)
          .finally(() => response.destroy());
      });
      sent.on('error', reject);
      sent.end(body);
    });
  } catch (error) {
    if (error instanceof AuthFailure) throw error;
    const why = signal.aborted ? 'no response in time' : messageOf(error);
    throw new AuthFailure(`${shown(url)} cannot be reached: ${why}`, { mayPass: true });
  }
}

async function read(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`the response has more than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function redirectOf({ statusCode = 0, headers: { location } }: IncomingMessage, from: URL): URL | undefined {
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode) && location !== undefined;
  return isRedirect && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
}

/** The URL without its query, which may contain a secret. */
const shown = ({ origin, pathname }: URL): string => redactUrl(`${origin}${pathname}`);

/** Does not show the resolved address, which would reveal the internal network. */
function notAllowed(url: URL): AuthFailure {
  return new AuthFailure(
    `${url.host} is not at a public address; the gateway follows a server only to public addresses, unless the server itself is at a ` +
      'private one, or its `auth.issuer` in the config names the host',
  );
}

/** The JSON object in a response; `undefined` if the body is something else, such as an HTML page. */
export function objectIn({ text }: SafeResponse): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

import type { ServerResponse } from 'node:http';
import { stringifyExact } from '../../lib/exact-json.ts';
import { endResponse, respondJson } from '../http/response.ts';
import type { ApiError } from './api-error.ts';

/** Headers of every response of the console and its API: no use by other sites, and no content sniffing. */
export const SECURITY_HEADERS: Record<string, string> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

const PRIVATE = { ...SECURITY_HEADERS, 'cache-control': 'no-store' };

export function respond(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const all = Object.entries({ ...PRIVATE, ...headers }).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).flatMap((each) => [name, each]),
  );
  if (body === undefined) endResponse(res.writeHead(status, all));
  else respondJson(res, status, stringifyExact(body), all);
}

export function respondApiError(res: ServerResponse, error: ApiError): void {
  respond(res, error.status, error.body, error.headers);
}

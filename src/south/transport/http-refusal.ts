import { STATUS_CODES } from 'node:http';
import type { NoToken } from '../../core/ports/accounts.ts';
import { ServerFailure, type ServerFailureKind } from '../../lib/server-failure.ts';
import { isObject } from '../../lib/values.ts';

const SHOWN_CHARS = 300;

/** An HTTP response that is not an MCP response, as an error. */
export class HttpRefusal extends ServerFailure {
  override readonly name = 'HttpRefusal';
  readonly status: number;
  readonly text: string;

  /** Why no token could be obtained for the server, if that was tried. */
  readonly #denied: string | undefined;

  constructor(status: number, origin: string, text: string, redirected: boolean, denied?: NoToken) {
    const what = refusal(status, origin, text, redirected);
    const kind = kindOfStatus(status, errorIn(text) !== undefined);
    if (denied === undefined) super(kind, what);
    else super(denied.headerHelps === true ? kind : 'no_token', `${what}; ${denied.reason}`);
    this.status = status;
    this.text = text;
    this.#denied = denied?.reason;
  }

  /** HTTP 401 or 403. */
  get isDenial(): boolean {
    return isDenial(this.status);
  }

  /** The server, or a proxy in front of it, is temporarily down or busy. */
  get isPassing(): boolean {
    return [429, 502, 503, 504].includes(this.status);
  }

  /** The failure for any request to this server, without address and body. */
  toAnyRequest(): ServerFailure {
    const said = errorIn(this.text);
    const details = [said, this.#denied].map((each) => (each === undefined ? '' : `: ${each}`)).join('');
    return new ServerFailure(this.failure, describe(this.status, said, details), { cause: this });
  }
}

function describe(status: number, said: string | undefined, details: string): string {
  if (status === 401) return `the server requires authorization (HTTP 401)${details}`;
  if (status === 403) return `the server denied access (HTTP 403)${details}`;
  return said ?? `the server answered with HTTP ${status}`;
}

/** An MCP server that answers with a JSON-RPC error is at the right path. */
export function kindOfStatus(status: number | undefined, hasRpcError: boolean): ServerFailureKind {
  if (isDenial(status)) return 'auth';
  return !hasRpcError && (status === 404 || status === 405) ? 'wrong_path' : 'other';
}

/**
 * An HTTP response that is not an MCP response, as one short line. The body is shown only if it is a JSON-RPC error: any other
 * body, such as an error page, does not help and may come from an internal address.
 */
export function refusal(status: number, origin: string, body: string, redirected: boolean): string {
  const what = `HTTP ${[status, STATUS_CODES[status]].filter(Boolean).join(' ')} from ${origin}`;
  if (redirected) return `${what}: the server redirects, and redirects are not followed`;
  const said = errorIn(body)?.slice(0, SHOWN_CHARS);
  if (said === undefined) return what;
  return isDenial(status) ? `${what}: ${said}` : said;
}

const isDenial = (status: number | undefined): boolean => status === 401 || status === 403;

/** The message of the JSON-RPC error in a body. */
export function errorIn(body: string): string | undefined {
  const message = errorObjectIn(body)?.['message'];
  return typeof message === 'string' && message !== '' ? message : undefined;
}

/** The JSON-RPC error in a body. */
export function errorObjectIn(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = isObject(parsed) && parsed['jsonrpc'] === '2.0' ? parsed['error'] : undefined;
    return isObject(error) ? error : undefined;
  } catch {
    return undefined;
  }
}

import { STATUS_CODES } from 'node:http';
import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import type { ServerFailureKind } from '../../lib/server-failure.ts';
import { isObject } from '../../lib/values.ts';

const SHOWN_CHARS = 300;

/** An HTTP response that is not an MCP response, as an error. */
export class HttpRefusal extends SdkHttpError {
  readonly failure: ServerFailureKind;

  constructor(status: number, origin: string, text: string, redirected: boolean) {
    super(SdkErrorCode.ClientHttpNotImplemented, refusal(status, origin, text, redirected), {
      status,
      statusText: '',
      text,
    });
    this.failure = kindOfStatus(status, errorIn(text) !== undefined);
  }
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
  if (redirected) return `${what}: it redirects elsewhere, which is not followed`;
  const said = errorIn(body)?.slice(0, SHOWN_CHARS);
  if (said === undefined) return what;
  return isDenial(status) ? `${what}: ${said}` : said;
}

const isDenial = (status: number | undefined): boolean => status === 401 || status === 403;

/** The message of the JSON-RPC error in a body. */
export function errorIn(body: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = isObject(parsed) && parsed['jsonrpc'] === '2.0' ? parsed['error'] : undefined;
    return isObject(error) && typeof error['message'] === 'string' && error['message'] !== ''
      ? error['message']
      : undefined;
  } catch {
    return undefined;
  }
}

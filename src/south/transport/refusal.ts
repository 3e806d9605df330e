import { isObject } from '../../lib/values.ts';

const SHOWN_CHARS = 300;

/** An HTTP answer that is none of the protocol, in words. What the server itself says about it is enough. */
export function refusal(status: number, origin: string, body: string, redirected: boolean): string {
  if (redirected) return `HTTP ${status} from ${origin}: it redirects elsewhere, which is not followed`;
  const said = errorIn(body);
  return said !== undefined && !isDenial(status)
    ? said
    : `HTTP ${status} from ${origin}: ${said ?? body.slice(0, SHOWN_CHARS)}`;
}

export const isDenial = (status: number | undefined): boolean => status === 401 || status === 403;

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

import { isObject } from '../lib/values.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 1_048_576;

export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The response has an error status. */
export class StatusError extends Error {
  readonly status: number;
  /** The OAuth error code in the body, if there is one. */
  readonly error: string | undefined;

  constructor(status: number, body: unknown) {
    super(`HTTP status ${status}`);
    this.status = status;
    this.error = isObject(body) && typeof body['error'] === 'string' ? body['error'] : undefined;
  }
}

/** Fetches JSON from an authorization server. Does not follow redirects, which could leak credentials. */
export async function fetchJson(url: string, options: FetchOptions = {}): Promise<unknown> {
  const { headers, ...others } = options;
  const response = await fetch(url, {
    ...others,
    headers: { accept: 'application/json', ...headers },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await textOf(response);
  if (!response.ok) throw new StatusError(response.status, parsed(text));
  return JSON.parse(text);
}

/** An error response may not be JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function textOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

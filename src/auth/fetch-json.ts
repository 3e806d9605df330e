const TIMEOUT_MS = 5000;
const MAX_BYTES = 1_048_576;

export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The JSON at the URL of an authorization server. Redirects are not followed: credentials might go along. */
export async function fetchJson(url: string, options: FetchOptions = {}): Promise<unknown> {
  const { headers, ...others } = options;
  const response = await fetch(url, {
    ...others,
    headers: { accept: 'application/json', ...headers },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`HTTP status ${response.status}`);
  }
  return JSON.parse(await textOf(response));
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

import type { Client } from '@modelcontextprotocol/client';
import { MAX_DELAY_MS } from '../lib/clock.ts';
import { ANY_RESULT } from '../lib/sdk/any-result.ts';
import { exactly } from '../lib/sdk/exact-client.ts';
import { CALL_HEADER } from './transport/stream-tag.ts';

export interface SendOptions {
  signal?: AbortSignal | undefined;
  /** Without one the request may take as long as it takes: the SDK's own limit of a minute ends nothing here. */
  timeoutMs?: number;
  /** The call this request is for: what the server asks on its response stream, it asks for that call. */
  callId?: string;
  /** Whether the server may answer with questions, to be asked again with the answers. */
  mayAsk?: boolean;
  /** Sent along over HTTP. */
  headers?: Record<string, string>;
}

/** One request to a server; its result, or its error, comes back as the server gave it. */
export async function send(
  client: Client,
  method: string,
  params: Record<string, unknown>,
  { signal, timeoutMs = MAX_DELAY_MS, callId, headers, mayAsk = false }: SendOptions = {},
): Promise<Record<string, unknown>> {
  const options = {
    timeout: timeoutMs,
    ...(mayAsk && { allowInputRequired: true }),
    ...(signal && { signal }),
    ...(callId !== undefined && { headers: { ...headers, [CALL_HEADER]: callId } }),
  };
  return exactly(client.request({ method, params }, ANY_RESULT, options));
}

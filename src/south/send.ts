import type { Client } from '@modelcontextprotocol/client';
import { MAX_DELAY_MS } from '../lib/clock.ts';
import { ANY_RESULT } from '../lib/sdk/any-result.ts';
import { exactly } from '../lib/sdk/exact-client.ts';
import { CALL_HEADER } from './transport/stream-tag.ts';

export interface SendOptions {
  signal?: AbortSignal | undefined;
  /** No limit if absent: the SDK's default of a minute does not apply. */
  timeoutMs?: number;
  /** The call of this request: questions on its response stream belong to that call. */
  callId?: string;
  /** Whether the server may respond with `input_required`. */
  mayAsk?: boolean;
  /** Sent along over HTTP. */
  headers?: Record<string, string>;
}

/** Sends one request; result and error come back as the server sent them. */
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

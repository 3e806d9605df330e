import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/**
 * How a question finds its call. A call's id travels with its request as a header that never leaves the transport; what
 * the server asks on the response stream of that request is stamped with it. No other evidence is kept, none is guessed.
 */
export const CALL_HEADER = 'x-meanwhile-call';

/** Where a question came from: the response stream of a call, that of another request, or where anything may come. */
export type StreamOrigin = { callId: string } | 'no call' | 'any';

const ORIGIN_KEY = 'meanwhile/call';

/** Marks what a server asks or tells with the call whose stream it came on, or that it was another's. */
export function stampOrigin(message: JSONRPCMessage, callId: string | undefined): JSONRPCMessage {
  // Progress names its request by itself.
  if (!('method' in message) || message.method === 'notifications/progress') return message;
  const meta = { ...message.params?._meta, [ORIGIN_KEY]: callId ?? null };
  return { ...message, params: { ...message.params, _meta: meta } };
}

/** Takes the mark off again. */
export function takeOrigin(params: Record<string, unknown>): { params: Record<string, unknown>; stream: StreamOrigin } {
  const { _meta, ...rest } = params;
  if (typeof _meta !== 'object' || _meta === null || !(ORIGIN_KEY in _meta)) return { params, stream: 'any' };
  const { [ORIGIN_KEY]: callId, ...meta } = _meta as Record<string, unknown>;
  const clean = Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
  return { params: clean, stream: typeof callId === 'string' ? { callId } : 'no call' };
}

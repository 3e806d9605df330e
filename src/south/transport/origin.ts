import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/**
 * How a question finds its call. A call's id travels with its request as a header that never leaves the transport; what
 * the server asks on the response stream of that request is stamped with it. No other evidence is kept, none is guessed.
 */
export const CALL_HEADER = 'x-meanwhile-call';

const ORIGIN_KEY = 'meanwhile/call';

/** Marks a server's request with the call it came with. Other messages pass untouched. */
export function stampOrigin(message: JSONRPCMessage, callId: string): JSONRPCMessage {
  if (!('method' in message) || !('id' in message)) return message;
  const meta = { ...message.params?._meta, [ORIGIN_KEY]: callId };
  return { ...message, params: { ...message.params, _meta: meta } };
}

/** Takes the mark off again. */
export function takeOrigin(params: Record<string, unknown>): { params: Record<string, unknown>; callId?: string } {
  const { _meta, ...rest } = params;
  if (typeof _meta !== 'object' || _meta === null || !(ORIGIN_KEY in _meta)) return { params };
  const { [ORIGIN_KEY]: callId, ...meta } = _meta as Record<string, unknown>;
  const clean = Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
  return typeof callId === 'string' ? { params: clean, callId } : { params: clean };
}

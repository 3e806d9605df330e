import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/**
 * How a question finds its call. A call's id travels with its request as a header that never leaves the transport; what
 * the server asks on the response stream of that request is stamped with it. No other evidence is kept, none is guessed.
 */
export const CALL_HEADER = 'x-meanwhile-call';

/** Where a question came from: the response stream of a call, that of another request, or where anything may come. */
export type StreamOrigin = { callId: string } | 'no call' | 'any';

type Params = Record<string, unknown> | undefined;

/** No server can write it. */
const ORIGIN = Symbol('origin');

/** The call, if it was one, and what the server sent in truth: the stamp may need parameters where there are none. */
interface Stamp {
  callId: string | undefined;
  params: Params;
}

/** Marks what a server asks or tells with the call whose stream it came on, or that it was another's. */
export function stampOrigin(message: JSONRPCMessage, callId: string | undefined): JSONRPCMessage {
  // Progress names its request by itself.
  if (!('method' in message) || message.method === 'notifications/progress') return message;
  const stamp: Stamp = { callId, params: message.params };
  return { ...message, params: Object.assign({ ...message.params }, { [ORIGIN]: stamp }) };
}

/** Takes the mark off again. */
export function takeOrigin(params: Params): { params: Params; stream: StreamOrigin } {
  const stamp = (params as { [ORIGIN]?: Stamp } | undefined)?.[ORIGIN];
  if (stamp === undefined) return { params, stream: 'any' };
  return { params: stamp.params, stream: stamp.callId === undefined ? 'no call' : { callId: stamp.callId } };
}

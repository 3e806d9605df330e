import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/**
 * Links a request of a server to the call that caused it. The id of a call travels with its request as a header that never
 * leaves the transport; the transport tags messages on the response stream of that request with it.
 */
export const CALL_HEADER = 'x-meanwhile-call';

/** The stream that a message came on: that of a call, that of another request, or one where any message may come. */
export type StreamTag = { callId: string } | 'no call' | 'any';

type Params = Record<string, unknown> | undefined;

/** A symbol, so that no server can write it. */
const TAG = Symbol('stream');

/** The call, if it was one, and the parameters as the server sent them: there may be none to add a tag to. */
interface TaggedParams {
  callId: string | undefined;
  params: Params;
}

/** Tags a request or notification with the call whose stream it came on, or with another request. */
export function tagMessage(message: JSONRPCMessage, callId: string | undefined): JSONRPCMessage {
  // Progress names its request itself.
  if (!('method' in message) || message.method === 'notifications/progress') return message;
  const tagged: TaggedParams = { callId, params: message.params };
  return { ...message, params: Object.assign({ ...message.params }, { [TAG]: tagged }) };
}

/** Removes the tag. */
export function takeStreamTag(params: Params): { params: Params; stream: StreamTag } {
  const tagged = (params as { [TAG]?: TaggedParams } | undefined)?.[TAG];
  if (tagged === undefined) return { params, stream: 'any' };
  return { params: tagged.params, stream: tagged.callId === undefined ? 'no call' : { callId: tagged.callId } };
}

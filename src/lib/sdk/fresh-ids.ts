import { randomBytes } from 'node:crypto';
import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';

/**
 * For a session that an earlier run of the program began: no id of a request may be used twice in a session, and a client
 * counts from zero. A server that still works on a request of that time would answer it in place of ours.
 */
export function useFreshIds(transport: Transport): void {
  const prefix = `${randomBytes(6).toString('base64url')}.`;
  const send = transport.send.bind(transport);
  const deliver = transport.onmessage;
  transport.send = async (message, options) => send(outgoing(message, prefix), options);
  transport.onmessage = (message, extra) => deliver?.(incoming(message, prefix), extra);
}

function outgoing(message: JSONRPCMessage, prefix: string): JSONRPCMessage {
  if (!('method' in message)) return message;
  if ('id' in message) return { ...message, id: `${prefix}${message.id}` };
  const { requestId } = message.params ?? {};
  if (message.method !== 'notifications/cancelled' || typeof requestId !== 'number') return message;
  return { ...message, params: { ...message.params, requestId: `${prefix}${requestId}` } };
}

function incoming(message: JSONRPCMessage, prefix: string): JSONRPCMessage {
  if ('method' in message || message.id === undefined) return message;
  return { ...message, id: withoutPrefix(message.id, prefix) };
}

function withoutPrefix(id: RequestId, prefix: string): RequestId {
  return typeof id === 'string' && id.startsWith(prefix) ? Number(id.slice(prefix.length)) : id;
}

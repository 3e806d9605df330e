import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { OversizeMessage } from './oversize-message.ts';

/**
 * Deals with a message of a server that was too large to be read: an answer fails its request, a request is refused, and
 * anything else is dropped.
 */
export function takeOversize(
  message: OversizeMessage,
  transport: Pick<Transport, 'onmessage' | 'onerror' | 'send'>,
): void {
  const { id, isRequest } = message.about();
  const report = (error: Error): void => transport.onerror?.(error);
  if (id === undefined) report(new Error(`dropped a message that is ${message.mistake}`));
  else if (isRequest) transport.send(tooLarge(id, `the request is ${message.mistake}`)).catch(report);
  else transport.onmessage?.(tooLarge(id, `the server's answer is ${message.mistake}`));
}

export function tooLarge(id: string | number, message: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: -32600, message } };
}

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { INTRODUCTIONS } from '../../lib/protocol.ts';

/** Records the result of `initialize` or `server/discover` as the server sent it: the SDK keeps only fields that it knows. */
export class InitializeRecorder {
  result: Record<string, unknown> | undefined;
  #requestId: RequestId | undefined;

  sent(message: JSONRPCMessage): void {
    if ('method' in message && 'id' in message && INTRODUCTIONS.has(message.method)) this.#requestId = message.id;
  }

  received(message: JSONRPCMessage): void {
    if ('result' in message && message.id === this.#requestId) this.result = message.result;
  }
}

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';

const INTRODUCTIONS = new Set(['initialize', 'server/discover']);

/** Keeps what a server says of itself when it is met: the SDK keeps only those fields of it that it knows. */
export class Hello {
  /** As it came. */
  said: Record<string, unknown> | undefined;
  #asked: RequestId | undefined;

  sent(message: JSONRPCMessage): void {
    if ('method' in message && 'id' in message && INTRODUCTIONS.has(message.method)) this.#asked = message.id;
  }

  received(message: JSONRPCMessage): void {
    if ('result' in message && message.id === this.#asked) this.said = message.result;
  }
}

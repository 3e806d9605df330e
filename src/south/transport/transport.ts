import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';

/** The stream that a message came on: that of a call, that of another request, or one where any message may come. */
export type StreamTag = { callId: string } | 'no call' | 'any';

export interface SendOptions {
  /** The call of this request: messages on its response stream belong to that call. */
  callId?: string | undefined;
  /** Sent along over HTTP. */
  headers?: Record<string, string> | undefined;
}

/** How messages get to a server and back. */
export interface ServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage, stream: StreamTag) => void) | undefined;
  /** The id of our session with the server, where it has sessions. */
  readonly sessionId?: string | undefined;
  start(): Promise<void>;
  send(message: JSONRPCMessage, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  setProtocolVersion?(version: string): void;
  /** Closes the response stream of a request, where it has one of its own. */
  drop?(id: RequestId): void;
}

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';

/** The stream on which a message arrived: of a call, of another request, or one for any message. */
export type StreamTag = { callId: string } | 'no call' | 'any';

export interface SendOptions {
  /** The call of this request: messages on its response stream belong to that call. */
  callId?: string | undefined;
  /** Sent along over HTTP. */
  headers?: Record<string, string> | undefined;
}

/** Exchanges messages with a server. */
export interface ServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage, stream: StreamTag) => void) | undefined;
  /** The id of our session with the server, if it has sessions. */
  readonly sessionId?: string | undefined;
  /** Whether responses wait because large messages are being parsed or have no room. Only if all responses arrive on one stream. */
  readonly isBehind?: boolean;
  /** How many bytes have arrived on that stream. */
  readonly received?: number;
  start(): Promise<void>;
  send(message: JSONRPCMessage, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  setProtocolVersion?(version: string): void;
  /** Closes the response stream of a request, if it has its own. */
  drop?(id: RequestId): void;
}

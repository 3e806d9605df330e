/** A client's end of a stdio connection with a gateway in this process, for the clients of both SDKs. */
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** The SDK's client takes a transport with a `pid` and `stderr` for a child process. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly pid = null;
  readonly stderr = null;
  readonly #socket: Socket;
  #closed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async start(): Promise<void> {
    createInterface({ input: this.#socket })
      .on('line', (line) => this.onmessage?.(JSON.parse(line) as JSONRPCMessage))
      .once('close', () => this.#close());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#socket.end();
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }
}

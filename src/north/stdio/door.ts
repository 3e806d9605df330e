import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, RequestId, Transport, TransportSendOptions } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { CONNECTION_SESSION, type Gateway } from '../../core/gateway.ts';
import { messageOf } from '../../lib/log.ts';
import type { Exchange } from '../exchange.ts';
import { createHubServer, type Carrier } from '../hub-server.ts';
import type { Hub } from '../hub/hub.ts';

/** There is one client, and so one session. */
const SESSION_ID = `${CONNECTION_SESSION}stdio`;
const PRINCIPAL = 'local';

/** A larger message ends the connection: there is no way to answer what cannot be read. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export interface StdioDoor {
  /** Resolves when the client has left. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** The stdio door: one client, one session, which ends with the connection. Either era, decided by the first message. */
export async function openStdioDoor(
  gateway: Gateway,
  hub: Hub,
  streams: { input: Readable; output: Writable } = { input: process.stdin, output: process.stdout },
): Promise<StdioDoor> {
  // One that is still stored was not ended by its client: the program was, and this is the same client's next attempt.
  const session = (await gateway.wake(SESSION_ID, PRINCIPAL)) ?? gateway.open(PRINCIPAL, SESSION_ID);
  // It ends with the connection, however long the client says nothing.
  session.hold();
  const carrier = new StdioCarrier(
    new StdioServerTransport(streams.input, streams.output, { maxBufferSize: MAX_MESSAGE_BYTES }),
  );
  const closed = new Promise<void>((resolve) => {
    carrier.onWireClosed = resolve;
  });
  const handle = serveStdio(() => createHubServer({ hub, session, carrier, mayRunCommands: true }), {
    transport: carrier,
    onerror: (error) => gateway.log.warn('client_protocol_error', { error: messageOf(error) }),
  });
  return {
    closed,
    close: async () => {
      await handle.close();
      await gateway.end(session, 'the client left');
    },
  };
}

/** The wire, and the knowledge which replies went over it. */
class StdioCarrier implements Transport, Carrier {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  onWireClosed: () => void = () => {};
  readonly #wire: StdioServerTransport;
  readonly #exchanges = new Map<RequestId, Exchange>();
  /** Requests that have no answer yet. */
  readonly #open = new Set<RequestId>();

  constructor(wire: StdioServerTransport) {
    this.#wire = wire;
  }

  track(id: RequestId, exchange: Exchange): void {
    this.#exchanges.set(id, exchange);
  }

  abandon(id: RequestId): void {
    this.#exchanges.delete(id);
    this.#open.delete(id);
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message) => this.#received(message);
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => {
      for (const exchange of this.#exchanges.values()) exchange.giveUp();
      this.#exchanges.clear();
      this.#open.clear();
      this.onclose?.();
      this.onWireClosed();
    };
    await this.#wire.start();
  }

  async send(message: JSONRPCMessage, _options?: TransportSendOptions): Promise<void> {
    const answered = 'method' in message ? undefined : message.id;
    const exchange = answered === undefined ? undefined : this.#exchanges.get(answered);
    if (answered !== undefined) this.abandon(answered);
    try {
      await this.#wire.send(message);
      exchange?.settle(true);
    } catch (error) {
      exchange?.giveUp();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#wire.close();
  }

  /** Two open requests with one id would share an exchange, and what becomes of one reply be told of the other. */
  #received(message: JSONRPCMessage): void {
    if (!('method' in message && 'id' in message)) {
      this.onmessage?.(message);
      return;
    }
    const { id } = message;
    if (this.#open.has(id)) {
      const error = { code: -32600, message: `request id ${JSON.stringify(id)} is already in use` };
      this.#wire.send({ jsonrpc: '2.0', id, error }).catch((failure: Error) => this.onerror?.(failure));
      return;
    }
    this.#open.add(id);
    this.onmessage?.(message);
  }
}

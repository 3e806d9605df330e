import type { Writable } from 'node:stream';
import { stringifyExact } from '../../lib/exact-json.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { INVALID_REQUEST } from '../../lib/rpc-error.ts';
import { within } from '../../lib/timers.ts';
import type { Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import type { Message, OutgoingMessage, RequestId } from '../message.ts';
import type { StdioWire } from './wire.ts';

const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/** How long to wait for answers after the client has closed its end. */
const LAST_ANSWERS_MS = 2000;

/** The wire, with the exchanges of its requests. */
export class StdioCarrier implements Carrier {
  onmessage: (message: Message) => void = () => {};
  onerror: (error: Error) => void = () => {};
  onclose: () => void = () => {};
  readonly #wire: StdioWire;
  readonly #output: Writable;
  readonly #exchanges = new InFlight<RequestId, Exchange>();
  /** Open requests. */
  readonly #open = new Set<RequestId>();
  #onAllAnswered: () => void = () => {};

  constructor(wire: StdioWire, output: Writable) {
    this.#wire = wire;
    this.#output = output;
  }

  track(id: RequestId, exchange: Exchange): void {
    this.#exchanges.add(id, exchange);
  }

  abandon(id: RequestId): void {
    this.#exchanges.delete(id);
    this.#open.delete(id);
    if (this.#open.size === 0) this.#onAllAnswered();
  }

  start(): void {
    this.#wire.onmessage = (message) => this.#received(message);
    this.#wire.onerror = (error) => this.onerror(error);
    // Requests that arrived just before are still answered.
    this.#wire.onend = () => void this.#allAnswered(LAST_ANSWERS_MS).then(() => this.close());
    this.#wire.onclose = () => {
      for (const exchange of this.#exchanges.values()) exchange.clientLeft();
      this.#exchanges.clear();
      this.#open.clear();
      this.onclose();
    };
    this.#wire.start();
  }

  send(message: OutgoingMessage): void {
    const answered = 'method' in message ? undefined : message.id;
    const exchange = answered === undefined ? undefined : this.#exchanges.get(answered);
    if (this.#wire.unreadBytes > MAX_UNREAD_BYTES) {
      this.#disconnectUnread();
      exchange?.clientLeft();
    } else {
      this.#wire.send(message, (error) => {
        if (error === undefined) exchange?.settle(true);
        else {
          exchange?.clientLeft();
          this.onerror(error);
        }
      });
    }
    // Last, because a reply that cannot be written throws: the error that replaces it belongs to the same exchange.
    if (answered !== undefined) this.abandon(answered);
  }

  /** Disconnects a client that stops reading, to save memory. */
  #disconnectUnread(): void {
    this.onerror(new Error('the client stopped reading standard output and was disconnected'));
    this.#output.destroy();
    this.close();
  }

  /** Resolves when every request is answered or the time has passed. */
  async #allAnswered(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    const answered = new Promise<void>((resolve) => {
      this.#onAllAnswered = resolve;
    });
    await within(ms, answered);
  }

  close(): void {
    this.#wire.close();
  }

  /** Two open requests with one id would share an exchange, so the second is refused. */
  #received(message: Message): void {
    if ('method' in message && 'id' in message) {
      const { id } = message;
      if (this.#open.has(id)) {
        const error = { code: INVALID_REQUEST, message: `request id ${stringifyExact(id)} is already in use` };
        this.#wire.send({ jsonrpc: '2.0', id, error });
        return;
      }
      this.#open.add(id);
    }
    this.onmessage(message);
  }

  /** Every message goes to the one wire, and nothing is sent once that is closed. */
  reaches(): boolean {
    return true;
  }
}

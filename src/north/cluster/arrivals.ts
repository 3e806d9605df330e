import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { InFlight } from '../../lib/in-flight.ts';
import { setArrival, type ReplyArrival } from '../http/response.ts';

/** A response sent through another gateway. */
interface Expected {
  sender: string;
  request: number;
  socket: Watched;
  arrival: ReplyArrival | undefined;
  listener: ((arrival: ReplyArrival) => void) | undefined;
}

const EXPECTED = Symbol('expected');

/** A connection of another gateway, and its unconfirmed responses. */
interface Watched extends Socket {
  [EXPECTED]?: InFlight<Expected, Expected>;
}

/** Tracks whether responses have reached the clients of other gateways, which confirm that. */
export class Arrivals {
  /** By forwarding gateway and request number. */
  readonly #expected = new Map<string, InFlight<number, Expected>>();

  expect(sender: string, request: number, res: ServerResponse): void {
    const socket: Watched = res.req.socket;
    const expected: Expected = { sender, request, socket, arrival: undefined, listener: undefined };
    this.#ofSender(sender).add(request, expected);
    this.#watched(socket).add(expected, expected);
    setArrival(res, (listener) => {
      if (expected.arrival === undefined) expected.listener = listener;
      else listener(expected.arrival);
    });
  }

  /** Handles confirmations; negative numbers are responses that the client has not received. */
  confirm(sender: string, requests: string): void {
    for (const each of requests.split(',')) {
      const request = Number(each);
      const expected = this.#expected.get(sender)?.get(Math.abs(request));
      if (expected !== undefined) this.#settle(expected, request > 0 ? 'received' : 'lost');
    }
  }

  /** The number of unconfirmed responses. */
  get open(): number {
    return [...this.#expected.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #ofSender(sender: string): InFlight<number, Expected> {
    const known = this.#expected.get(sender);
    if (known !== undefined) return known;
    const all = new InFlight<number, Expected>();
    this.#expected.set(sender, all);
    return all;
  }

  #watched(socket: Watched): InFlight<Expected, Expected> {
    const known = socket[EXPECTED];
    if (known !== undefined) return known;
    const all = new InFlight<Expected, Expected>();
    socket[EXPECTED] = all;
    // The gateway died, or aborted a response that its client no longer wants.
    socket.once('close', () => {
      for (const expected of all.values()) this.#settle(expected, 'unknown');
    });
    return all;
  }

  #settle(expected: Expected, arrival: ReplyArrival): void {
    const { sender, request, socket, listener } = expected;
    expected.arrival = arrival;
    socket[EXPECTED]?.delete(expected);
    const ofSender = this.#expected.get(sender);
    ofSender?.delete(request);
    if (ofSender?.size === 0) this.#expected.delete(sender);
    listener?.(arrival);
  }
}

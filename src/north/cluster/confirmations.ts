import type { GatewayAddress } from '../../core/ports/cluster-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { DELIVERY, FORWARDED } from '../http/addressed.ts';
import { GATEWAY_PATH, gatewayHeader } from './advertise.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { ForwardStore } from './owners.ts';

/** How long a confirmation waits for a request to travel with. */
const CONFIRM_MS = 5;
/** So that the header stays short. */
const MAX_AT_ONCE = 200;

interface Waiting {
  owner: GatewayAddress;
  /** The numbers of requests; below zero if the client has not received the response. */
  requests: number[];
  /** When the first of them came. */
  since: number;
  isArmed: boolean;
}

/**
 * Tells other gateways whether clients have received the responses to forwarded requests: with the next request to that gateway,
 * or soon after. They cannot know otherwise: a written response may be lost with the forwarding gateway.
 */
export class Confirmations {
  /** By owner. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #store: ForwardStore;
  readonly #clock: Clock;
  readonly #client: GatewayClient;
  /** The number of requests so far. */
  #requests = 0;
  #closed = false;

  constructor({ store, clock }: { store: ForwardStore; clock: Clock }, client: GatewayClient) {
    this.#store = store;
    this.#clock = clock;
    this.#client = client;
  }

  close(): void {
    this.#closed = true;
  }

  /** The number of the next request to this gateway, and its header. */
  next(owner: GatewayAddress): { request: number; header: string } {
    this.#requests += 1;
    return { request: this.#requests, header: this.#headerFor(this.#requests, owner) };
  }

  /** Adds the fate of a response. */
  add(owner: GatewayAddress, request: number, received: boolean): void {
    const waiting = this.#waitingFor(owner);
    if (waiting.requests.push(received ? request : -request) > 1) return;
    waiting.since = this.#clock.now();
    if (!waiting.isArmed) this.#arm(waiting, CONFIRM_MS);
  }

  #waitingFor(owner: GatewayAddress): Waiting {
    const known = this.#waiting.get(owner.id);
    if (known !== undefined) return known;
    const waiting: Waiting = { owner, requests: [], since: 0, isArmed: false };
    this.#waiting.set(owner.id, waiting);
    return waiting;
  }

  #headerFor(request: number, { id }: GatewayAddress): string {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.requests.length === 0) return String(request);
    waiting.since = this.#clock.now();
    return `${request} ${waiting.requests.splice(0, MAX_AT_ONCE).join()}`;
  }

  /** Sends the remaining confirmations. If that fails, the fate of the responses stays unknown to the owner. */
  #send(owner: GatewayAddress): void {
    const { address } = owner;
    const header = this.#headerFor(0, owner);
    if (address === undefined || this.#closed) return;
    const headers = { [FORWARDED]: gatewayHeader(this.#store, owner.id, this.#clock.now()), [DELIVERY]: header };
    this.#client.send({ address, method: 'GET', path: GATEWAY_PATH, headers }, { onAnswer: () => undefined });
  }

  #arm(waiting: Waiting, ms: number): void {
    waiting.isArmed = true;
    this.#clock.after(ms, () => this.#ring(waiting), { unref: true });
  }

  #ring(waiting: Waiting): void {
    const { owner, requests, since } = waiting;
    waiting.isArmed = false;
    const left = since + CONFIRM_MS - this.#clock.now();
    if (requests.length > 0 && left <= 0) this.#send(owner);
    if (requests.length > 0) this.#arm(waiting, left > 0 ? left : CONFIRM_MS);
    else this.#waiting.delete(owner.id);
  }
}

/** The parts of a listener for several gateways on one store. Loaded only then. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../core/errors.ts';
import type { Neighbours } from '../../core/cluster/neighbours.ts';
import type { Observed } from '../../core/observer.ts';
import type { Clock } from '../../lib/clock.ts';
import { loadUndici } from '../../lib/http-connections.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import { isHelperTool } from '../hub/about.ts';
import { gatewayOrigin, GATEWAY_PATH, isOutOfReach, whoAnswersAt } from './advertise.ts';
import { Confirmations } from './confirmations.ts';
import { Forwarder, type Incoming } from './forwarder.ts';
import { GatewayClient } from './gateway-client.ts';
import { answerRequest, HttpNeighbours, type NeighbourRequestHandler } from './neighbours.ts';
import { Receiver, type Received } from './receiver.ts';
import type { ForwardStore } from './owners.ts';

const REACHABLE_FIX =
  'set the address at which other gateways reach this one with --advertise; it must lead directly to this gateway, or through a ' +
  'proxy that does not buffer';

export interface ClusterParts {
  store: ForwardStore;
  clock: Clock;
  log: Log;
  observed: Observed;
  /** Publishes the address to other gateways, which can be contacted from now on. */
  announce: (address: string, neighbours: Neighbours) => Promise<void>;
  /** Answers requests of other gateways. */
  answerer: NeighbourRequestHandler;
}

export async function joinCluster(parts: ClusterParts): Promise<Cluster> {
  return new Cluster(parts, new GatewayClient(await loadUndici()));
}

export class Cluster {
  readonly #parts: ClusterParts;
  readonly #client: GatewayClient;
  readonly #confirmations: Confirmations;
  readonly #forwarder: Forwarder;
  readonly #receiver: Receiver;

  constructor(parts: ClusterParts, client: GatewayClient) {
    this.#parts = parts;
    this.#client = client;
    this.#confirmations = new Confirmations(parts, client);
    this.#forwarder = new Forwarder(parts, client, this.#confirmations);
    this.#receiver = new Receiver(parts);
  }

  /** Publishes the address of this gateway, which listens at the URL. */
  async announce(listening: string, advertise: string | undefined): Promise<void> {
    const { store, log, announce } = this.#parts;
    const address = gatewayOrigin(advertise ?? listening);
    const answering = await whoAnswersAt(address, { ...this.#parts, client: this.#client });
    switch (answering.kind) {
      case 'this':
        break;
      case 'other':
        throw new GatewayError(
          'TOOL_ERR_INVALID_ARGUMENT',
          `another gateway already answers at ${address}, the address that this gateway advertises; ` +
            'give each gateway its own address with --advertise',
        );
      case 'unknown': {
        log.warn('advertise_unreachable', { address, error: answering.why, fix: REACHABLE_FIX });
      }
    }
    const other = await store.anyOther();
    if (other?.address !== undefined && isOutOfReach(address, other.address)) {
      const error = `another gateway is on another machine, at ${other.address}, and cannot reach this one`;
      log.warn('advertise_unreachable', { address, error, fix: REACHABLE_FIX });
    }
    await announce(address, new HttpNeighbours(this.#parts, this.#client, this.#confirmations));
    log.info('advertised', { address, gateway: store.gatewayId });
  }

  /** Serves the request of a client here, or at the gateway that owns its session. */
  serve(incoming: Incoming, here: () => Promise<void> | undefined): Promise<void> {
    return this.#forwarder.serve(incoming, here);
  }

  /** Whether a message, or one of a batch, starts a new call instead of answering a question. */
  beginsCall(message: unknown): boolean {
    if (Array.isArray(message)) return message.some((each) => this.beginsCall(each));
    if (!isObject(message) || message['method'] !== 'tools/call' || !isObject(message['params'])) return false;
    const { name, inputResponses, requestState } = message['params'];
    return inputResponses === undefined && requestState === undefined && !isHelperTool(name);
  }

  /** The request of another gateway's client; `undefined` if it was already answered. */
  receive(req: IncomingMessage, res: ServerResponse): Received | undefined {
    const received = this.#receiver.receive(req, res);
    if (req.url !== GATEWAY_PATH || received === undefined) return received;
    if (req.method === 'POST') void this.#answer(received, req, res);
    else res.writeHead(204).end();
    return undefined;
  }

  async #answer(received: Received, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { answerer, log } = this.#parts;
    try {
      await answerRequest(received, { req, res }, answerer, () => this.refuse(res));
    } catch (error) {
      log.error('gateway_not_answered', { error: messageOf(error) });
      res.destroy();
    }
  }

  refuse(res: ServerResponse): void {
    this.#receiver.refuse(res);
  }

  /** Waits until forwarded requests have ended, at most this long. */
  async drain(ms: number): Promise<void> {
    await this.#forwarder.drain(ms);
  }

  /** The number of unconfirmed responses to clients of other gateways. */
  get unconfirmed(): number {
    return this.#receiver.unconfirmed;
  }

  /** The number of forwarded requests. */
  get forwarding(): number {
    return this.#forwarder.open;
  }

  close(): void {
    this.#confirmations.close();
    this.#forwarder.close();
    this.#client.close();
  }
}

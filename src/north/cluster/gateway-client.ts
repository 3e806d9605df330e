import {
  Agent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestOptions,
} from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { Clock } from '../../lib/clock.ts';

const CONNECT_TIMEOUT_MS = 2000;
/** Far less than gateways keep idle connections open, so that a request does not meet a connection that is being closed. */
const MAX_IDLE_MS = 10_000;
const MAX_IDLE = 1000;

export interface OutgoingRequest {
  /** `http://host:port` */
  address: string;
  method: string;
  path: string;
  headers: OutgoingHttpHeaders;
  body?: Buffer | undefined;
}

export type Outcome =
  | { kind: 'answered'; response: IncomingMessage }
  /** It has certainly not been received. */
  | { kind: 'unreachable'; error: Error }
  /** It may have been received. */
  | { kind: 'broken'; error: Error };

export interface Sending {
  outcome: Promise<Outcome>;
  /** The client has the whole response. */
  confirm(): void;
  /** The client has left, or nothing more is expected of the recipient. */
  abort(): void;
  /** Called when nothing of it is open any more. */
  onClose(listener: () => void): void;
}

/** Follows the body of a request when the client has received the response. */
const CONFIRMATION = '\n';

/**
 * Sends requests to other gateways. A request has its whole body at once, but does not end: that is how it tells the recipient
 * whether the client has received the response. It ends when the client has, and breaks off otherwise. Not even a gateway that is
 * killed on the way makes a lost response pass for a delivered one.
 */
export class GatewayClient {
  readonly #clock: Clock;
  readonly #agents = { 'http:': new Agent(AGENT), 'https:': new TlsAgent(AGENT) };
  /** By address: parsing it takes long, compared to the rest. */
  readonly #targets = new Map<string, RequestOptions>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  send({ address, method, path, headers, body }: OutgoingRequest): Sending {
    const target = this.#target(address);
    const begin = target.protocol === 'https:' ? httpsRequest : httpRequest;
    const length = (body?.length ?? 0) + CONFIRMATION.length;
    const request = begin({ ...target, method, path, headers: { ...headers, 'content-length': length } });
    const outcome = this.#outcomeOf(request);
    if (body !== undefined && body.length > 0) request.write(body);
    else request.flushHeaders();
    return {
      outcome,
      confirm: () => void request.end(CONFIRMATION),
      abort: () => void request.destroy(),
      onClose: (listener) => void request.once('close', listener),
    };
  }

  close(): void {
    this.#agents['http:'].destroy();
    this.#agents['https:'].destroy();
  }

  #target(address: string): RequestOptions {
    const known = this.#targets.get(address);
    if (known !== undefined) return known;
    const { protocol, hostname, port } = urlToHttpOptions(new URL(address));
    const agent = this.#agents[protocol === 'https:' ? 'https:' : 'http:'];
    const target: RequestOptions = { protocol, hostname, agent, ...(port !== undefined && { port }) };
    this.#targets.set(address, target);
    return target;
  }

  async #outcomeOf(request: ClientRequest): Promise<Outcome> {
    return new Promise((resolve) => {
      let isConnected = false;
      request.once('socket', (socket) => {
        if (!socket.connecting) {
          isConnected = true;
          return;
        }
        const onLate = (): void => void request.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`));
        const stop = this.#clock.after(CONNECT_TIMEOUT_MS, onLate, { unref: true });
        request.once('close', stop);
        socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
          isConnected = true;
          stop();
        });
      });
      request.once('response', (response) => resolve({ kind: 'answered', response }));
      // Also after a response: then its reader hears of it.
      request.on('error', (error) => resolve({ kind: isConnected ? 'broken' : 'unreachable', error }));
    });
  }
}

/** The connection that was used last comes first, so that the others become idle and go. */
const AGENT = { keepAlive: true, scheduling: 'lifo', timeout: MAX_IDLE_MS, maxFreeSockets: MAX_IDLE } as const;

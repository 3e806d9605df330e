import { messageOf } from '../../lib/log.ts';
import { CANCELLED, CLIENT_CAPABILITIES_KEY, MODERN_VERSION, VERSION_KEY } from '../../lib/protocol.ts';
import { INVALID_PARAMS, type RpcFailure } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import type { OnCancel } from '../cancel-reasons.ts';
import { metaMistake } from '../client-info.ts';
import { failureOf } from '../client-request.ts';
import { isRequest, type Message, type NotificationMessage, type RequestMessage } from '../message.ts';
import { modernNotification, modernResult, type ModernEndpoint } from '../modern/endpoint.ts';
import { unsupported } from '../modern/validate.ts';
import { OpenRequests } from '../open-requests.ts';
import type { ClientPeer } from '../peer.ts';
import type { StdioCarrier } from './carrier.ts';

/** The endpoint for the client on the wire, in either era. */
export interface StdioEndpoint {
  /** A peer for a client with a session. */
  legacy(): Promise<{ peer: ClientPeer; close: () => void }>;
  /** Called once it is certain that the client has no session. */
  onModern(): void;
  modern(): Promise<ModernEndpoint>;
  /** Serves `subscriptions/listen`. */
  listen(request: RequestMessage): void;
  /** Ends the subscription with this id; returns false if there is none. */
  unlisten(id: unknown): boolean;
}

/**
 * The client on the wire. Its first message decides the era, except for `server/discover`, with which it asks for the versions
 * of the protocol and after which it may choose either.
 */
export class StdioConnection {
  readonly #carrier: StdioCarrier;
  readonly #endpoint: StdioEndpoint;
  readonly #onMistake: (message: string) => void;
  readonly #requests: OpenRequests;
  #era: 'undecided' | 'legacy' | 'modern' = 'undecided';
  #legacy: { peer: ClientPeer; close: () => void } | undefined;
  /** Messages that arrived before the peer was ready; their order matters. */
  #waiting: Message[] = [];
  #closed = false;

  constructor(
    carrier: StdioCarrier,
    endpoint: StdioEndpoint,
    { onCancel, onMistake }: { onCancel: OnCancel; onMistake: (message: string) => void },
  ) {
    this.#carrier = carrier;
    this.#endpoint = endpoint;
    this.#onMistake = onMistake;
    this.#requests = new OpenRequests(carrier, onCancel);
  }

  receive(message: Message): void {
    if (this.#legacy !== undefined) this.#legacy.peer.receive(message);
    else if (this.#era === 'legacy') this.#waiting.push(message);
    else if (!('method' in message)) this.#onMistake('a response to an unknown request');
    else if (isLegacy(message) && this.#era === 'undecided') void this.#beginLegacy(message);
    else if (isRequest(message)) this.#modernRequest(message);
    else this.#modernNotification(message);
  }

  close(): void {
    this.#closed = true;
    this.#requests.close();
    this.#legacy?.close();
    this.#legacy?.peer.close();
  }

  async #beginLegacy(first: RequestMessage | NotificationMessage): Promise<void> {
    this.#era = 'legacy';
    this.#waiting = [first];
    try {
      this.#legacy = await this.#endpoint.legacy();
    } catch (error) {
      this.#refuseWaiting(error);
      return;
    }
    if (this.#closed) {
      this.close();
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.#legacy.peer.receive(message);
  }

  /** The client may try again. */
  #refuseWaiting(error: unknown): void {
    this.#era = 'undecided';
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) if (isRequest(message)) this.#refuse(message, failureOf(error));
  }

  #modernRequest(message: RequestMessage): void {
    const mistake = mistakeIn(message, this.#era === 'modern');
    if (mistake !== undefined) {
      this.#refuse(message, mistake);
      return;
    }
    if (message.method !== 'server/discover') this.#decideModern();
    if (message.method === 'subscriptions/listen') this.#endpoint.listen(message);
    else void this.#requests.answer(message, async (request) => modernResult(await this.#endpoint.modern(), request));
  }

  #decideModern(): void {
    if (this.#era === 'modern') return;
    this.#era = 'modern';
    this.#endpoint.onModern();
  }

  #modernNotification(message: NotificationMessage): void {
    if (message.method === CANCELLED) {
      const { requestId, reason } = message.params ?? {};
      if (!this.#endpoint.unlisten(requestId)) this.#requests.cancel(requestId, reason);
      return;
    }
    const mistake = this.#era === 'undecided' ? mistakeIn(message, false) : undefined;
    if (mistake !== undefined) {
      this.#onMistake(mistake.message);
      return;
    }
    this.#endpoint
      .modern()
      .then((endpoint) => modernNotification(endpoint, message))
      .catch((error: unknown) => this.#onMistake(messageOf(error)));
  }

  #refuse({ id }: RequestMessage, error: RpcFailure): void {
    this.#onMistake(error.message);
    this.#carrier.send({ jsonrpc: '2.0', id, error });
  }
}

/** Whether a message belongs to the legacy protocol: it does not describe its client. */
function isLegacy({ method, params }: RequestMessage | NotificationMessage): boolean {
  const meta = params?.['_meta'];
  if (!isObject(meta) || !(VERSION_KEY in meta)) return true;
  return method === 'initialize' && (metaMistake(meta) !== undefined || meta[VERSION_KEY] !== MODERN_VERSION);
}

/** The mistake in a modern message. The first request of a client gets more details. */
function mistakeIn(
  { method, params = {} }: RequestMessage | NotificationMessage,
  isModern: boolean,
): RpcFailure | undefined {
  const meta = params['_meta'];
  if (!isObject(meta) || !(VERSION_KEY in meta)) {
    const { protocolVersion } = params;
    if (method === 'initialize') {
      return unsupported(typeof protocolVersion === 'string' ? protocolVersion : undefined);
    }
    const keys = `${VERSION_KEY}, ${CLIENT_CAPABILITIES_KEY}`;
    const message = `Request is missing the required _meta envelope for protocol revision ${MODERN_VERSION} (${keys})`;
    return { code: INVALID_PARAMS, message };
  }
  const mistake = metaMistake(meta);
  if (mistake !== undefined) {
    const { key, problem } = mistake;
    const invalid = `Invalid _meta envelope for protocol revision ${MODERN_VERSION}`;
    if (isModern && problem !== 'missing') return { code: INVALID_PARAMS, message: `${invalid}: ${problem}` };
    return { code: INVALID_PARAMS, message: `${invalid}: ${key}: ${problem}`, data: { envelope: mistake } };
  }
  const version = String(meta[VERSION_KEY]);
  return version === MODERN_VERSION ? undefined : unsupported(version);
}

/** Serves requests of clients here, or forwards them to the gateway that owns their session. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { OwnedElsewhere } from '../../core/errors.ts';
import type { ForwardOutcome, Observed } from '../../core/observer.ts';
import type { GatewayAddress } from '../../core/ports/cluster-store.ts';
import type { Identity } from '../../core/ports/identity.ts';
import type { Clock } from '../../lib/clock.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import { every, sleep } from '../../lib/timers.ts';
import { parseBody } from '../http/body.ts';
import { listenToResponse, respondError, respondJson, STREAM_HEADERS } from '../http/response.ts';
import { lostRequest } from '../lost-request.ts';
import { idOf, isMessage, isRequest, type ErrorMessage } from '../message.ts';
import type { Confirmations } from './confirmations.ts';
import { DELIVERY, FORWARDED } from '../http/addressed.ts';
import type { GatewayResponse, GatewayClient, GatewayRequest, GatewayRequestOptions } from './gateway-client.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import { requiredClaim } from './required-claim.ts';
import { Owners, type ForwardStore } from './owners.ts';
import { REFUSED_BY } from './receiver.ts';
import { Signer } from './signer.ts';

const RETRY_MS = 200;
/** How long a request waits beyond the lease of an unreachable owner, for another gateway to take over the session. */
const TAKE_OVER_MS = 5000;

/** How often to check whether requests have ended. */
const DRAIN_MS = 50;
const NO_ADDRESS = 'it has no address: it serves stdio, or is just starting';
const UNREACHABLE_FIX = 'make that gateway reachable at its address, or start it with the right --advertise';

/** A request of a client of this gateway. */
export interface Incoming extends Identity {
  req: IncomingMessage;
  res: ServerResponse;
  hasHubTools: boolean;
  body?: Buffer | undefined;
}

interface Owned {
  key: string;
  owner: GatewayAddress;
}

interface ForwarderParts {
  store: ForwardStore;
  clock: Clock;
  log: Log;
  observed: Observed;
}

/** Whether the response has started; if not, why. */
type Outcome = { kind: 'answered' } | Failure;

interface Failure {
  kind: Exclude<ForwardOutcome, 'answered'>;
  error: Error;
}

/** A forwarded request. */
interface Open extends Owned {
  sending: GatewayRequest;
  ends: boolean;
}

interface Addressee extends Owned {
  address: string;
  delivery: string;
}

export class Forwarder {
  readonly #store: ForwardStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #observed: Observed;
  readonly #owners: Owners;
  readonly #signer: Signer;
  readonly #client: GatewayClient;
  readonly #confirmations: Confirmations;
  readonly #open = new InFlight<Open, Open>();
  readonly #stopChecking: () => void;
  #closed = false;
  /** Requests whose owner is still being determined. */
  #serving = 0;

  constructor({ store, clock, log, observed }: ForwarderParts, client: GatewayClient, confirmations: Confirmations) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#observed = observed;
    this.#owners = new Owners(store, clock);
    this.#signer = new Signer(store, clock);
    this.#client = client;
    this.#confirmations = confirmations;
    const onFailed = (error: unknown): void => log.warn('owner_check_failed', { error: messageOf(error) });
    this.#stopChecking = every(store.leaseMs, () => void this.#endLost().catch(onFailed), clock);
  }

  /** The number of forwarded requests. */
  get open(): number {
    return this.#open.size;
  }

  /** Waits until finite forwarded requests have ended, at most this long. */
  async drain(ms: number): Promise<void> {
    const deadline = this.#clock.now() + ms;
    const isBusy = (): boolean => this.#serving > 0 || this.#open.values().some(({ ends }) => ends);
    while (isBusy() && this.#clock.now() < deadline) await sleep(DRAIN_MS, this.#clock);
  }

  close(): void {
    this.#closed = true;
    this.#stopChecking();
    for (const { sending } of this.#open.values()) sending.abort();
  }

  /** `here` serves the request in this gateway, and throws `OwnedElsewhere` if it cannot. */
  serve(incoming: Incoming, here: () => Promise<void> | undefined): Promise<void> {
    this.#serving += 1;
    return this.#serve(incoming, here).then(
      (failure) => {
        this.#serving -= 1;
        if (failure !== undefined) this.#observed.observer?.requestForwarded(failure.kind);
      },
      (error: unknown) => {
        this.#serving -= 1;
        throw error;
      },
    );
  }

  /** Resolves with the reason if it could not be forwarded. */
  #serve(incoming: Incoming, here: () => Promise<void> | undefined): Promise<Failure | undefined> {
    const key = requiredClaim(incoming.req, incoming.principal);
    const owner = key === undefined ? undefined : this.#owners.find(key);
    if (key === undefined || owner === undefined) return this.#serveAt(undefined, incoming, here);
    if (!(owner instanceof Promise)) return this.#serveAt({ key, owner }, incoming, here);
    return owner.then((found) => this.#serveAt(found && { key, owner: found }, incoming, here));
  }

  async #serveAt(
    owned: Owned | undefined,
    incoming: Incoming,
    here: () => Promise<void> | undefined,
  ): Promise<Failure | undefined> {
    const first = owned ?? (await this.#tryHere(here));
    // A client that left during the lookup emits no further close event.
    if (first === undefined || isOver(incoming.res)) return undefined;
    const outcome = await this.#forward(incoming, first);
    return outcome.kind === 'answered' ? undefined : this.#tryAgain(incoming, here, first, outcome);
  }

  async #tryAgain(
    incoming: Incoming,
    here: () => Promise<void> | undefined,
    first: Owned,
    firstFailure: Failure,
  ): Promise<Failure | undefined> {
    const { req, res } = incoming;
    const giveUpAt = this.#clock.now() + this.#store.leaseMs + TAKE_OVER_MS;
    let owned = first;
    let outcome: Outcome = firstFailure;
    let failure: Failure | undefined;
    for (;;) {
      if (outcome.kind === 'answered') return undefined;
      if (isOver(res)) return failure;
      failure = outcome;
      this.#owners.forget(owned.key);
      this.#report(owned, failure);
      // Repeating a GET or DELETE does no harm.
      if (failure.kind === 'broken' && req.method === 'POST') {
        respondLost(incoming);
        return failure;
      }
      if (this.#clock.now() >= giveUpAt || this.#closed) {
        this.#log.warn('owner_unreachable', { ...owned.owner, error: failure.error.message, fix: UNREACHABLE_FIX });
        respondUnreachable(incoming);
        return failure;
      }
      await sleep(RETRY_MS, this.#clock);
      if (isOver(res)) return failure;
      const next = await this.#tryHere(here);
      if (next === undefined || isOver(res)) return failure;
      owned = next;
      outcome = await this.#forward(incoming, owned);
    }
  }

  /** The owner, if it is another gateway. */
  async #tryHere(here: () => Promise<void> | undefined): Promise<Owned | undefined> {
    try {
      await here();
      return undefined;
    } catch (error) {
      if (!(error instanceof OwnedElsewhere)) throw error;
      const { key, owner } = error;
      this.#owners.learn(key, owner);
      return { key, owner };
    }
  }

  /** Resolves when the response has started, or will not arrive. */
  #forward(incoming: Incoming, { key, owner }: Owned): Promise<Outcome> {
    const { req, res } = incoming;
    const { id, address } = owner;
    if (address === undefined) return Promise.resolve({ kind: 'unreachable', error: new Error(NO_ADDRESS) });
    const { request, header } = this.#confirmations.next(owner);
    let refusedBy: string | undefined;
    let open: Open | undefined;
    const sending = this.#client.send(this.#outgoing(incoming, { key, owner, address, delivery: header }), {
      onAnswer: (answer) => {
        refusedBy = answer.headers[REFUSED_BY]?.toString();
        // Not required, but the owner need not wait for it any longer.
        if (refusedBy !== undefined) this.#confirmations.add(owner, request, true);
        if (refusedBy !== undefined || isOver(res)) return undefined;
        this.#owners.learn(key, owner);
        const onHandedOver = (received: boolean): void => this.#confirmations.add(owner, request, received);
        listenToResponse(res, { onHandedOver });
        begin(res, answer);
        return res;
      },
      onClose: (error) => {
        if (open !== undefined) this.#open.delete(open);
        this.#ended(res, error, refusedBy);
      },
    });
    open = { key, owner, sending, ends: isRequestThatEnds(req) };
    if (!sending.isOver) this.#open.add(open, open);
    const onLeft = (): void => sending.abort();
    res.on('close', onLeft);
    return sending.outcome.then((outcome) => {
      if (refusedBy === undefined && outcome.kind === 'answered') return outcome;
      res.off('close', onLeft);
      if (outcome.kind !== 'answered') return outcome;
      const others = refusedBy === this.#store.gatewayId ? 'this gateway' : 'another gateway';
      return { kind: 'refused', error: new Error(`${refusedBy === id ? 'it' : others} has refused the request`) };
    });
  }

  #outgoing(
    { req, principal, facts, body }: Incoming,
    { key, owner, address, delivery }: Addressee,
  ): GatewayRequestOptions {
    const { method = '', url: path = '' } = req;
    const headers = requestHeaders(req.headers);
    headers[FORWARDED] = this.#signer.headerFor(req, { principal, facts, key, recipient: owner.id });
    headers[DELIVERY] = delivery;
    return { address, method, path, headers, body };
  }

  /** The response of the owner is complete or has failed. */
  #ended(res: ServerResponse, error: Error | undefined, refusedBy: string | undefined): void {
    if (refusedBy !== undefined || !res.headersSent) return;
    if (error === undefined) this.#observed.observer?.requestForwarded('answered');
    else if (!isOver(res)) {
      this.#observed.observer?.requestForwarded('broken');
      // The client resumes a broken stream.
      res.destroy();
    }
  }

  #report({ owner: { id: gateway, address } }: Owned, { kind, error }: Failure): void {
    const about = { gateway, address, error: error.message };
    if (kind === 'broken') this.#log.warn('forwarded_request_lost', about);
    else this.#log.debug('forward_failed', about);
  }

  /** Ends the requests of gateways that died silently. A gateway that lost a session ends its requests itself. */
  async #endLost(): Promise<void> {
    // One answer shows for all requests of a gateway that it is alive.
    const alive = new Set<string>();
    for (const open of this.#open.values()) {
      // Requests without a session were forwarded because this gateway is stopping, and end with it.
      if (open.key === '' || alive.has(open.owner.id)) continue;
      const owner = await this.#store.ownerOf(open.key);
      if (owner?.id === open.owner.id) alive.add(owner.id);
      else open.sending.abort();
    }
  }
}

/** Flushes the headers immediately, because the client of a stream waits for them. */
function begin(res: ServerResponse, { status, headers }: GatewayResponse): void {
  res.writeHead(status, responseHeaders(headers));
  if (headers['content-type'] === STREAM_HEADERS['content-type']) res.flushHeaders();
}

/** Subscription streams do not end on their own. */
function isRequestThatEnds({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers['mcp-method'] !== 'subscriptions/listen';
}

function isOver(res: ServerResponse): boolean {
  return res.destroyed || res.writableEnded;
}

/** The owner may have run the request before it was lost; running it again could duplicate its work. */
function respondLost({ res, body, hasHubTools }: Incoming): void {
  const message = lostRequest('the gateway that had the session was lost', hasHubTools);
  const value = body && parseBody(body).value;
  const replies = (Array.isArray(value) ? value : [value])
    .filter(isMessage)
    .filter(isRequest)
    .map(({ id }): ErrorMessage => ({ jsonrpc: '2.0', id, error: { code: -32000, message } }));
  if (replies.length === 0) respondError(res, 503, -32000, message, { headers: { 'retry-after': '1' } });
  else respondJson(res, 200, stringifyExact(Array.isArray(value) ? replies : replies[0]));
}

function respondUnreachable({ res, body }: Incoming): void {
  const id = body && idOf(parseBody(body).value);
  const message = 'another gateway has the session and cannot be reached; try again later (see the log)';
  respondError(res, 503, -32000, message, { id, headers: { 'retry-after': '1' } });
}

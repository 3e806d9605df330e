import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../core/errors.ts';
import type { Ending } from '../../core/call/request.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { NativeView } from '../../core/session/kind.ts';
import type { TokenFacts } from '../../core/ports/identity.ts';
import type { Session } from '../../core/session/session.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { metaOf } from '../../lib/meta.ts';
import type { Addressed, ClientConnection } from '../http/addressed.ts';
import { ClientRequest } from '../client-request.ts';
import { HelperTools } from '../all/helper-tools.ts';
import { openSubscription } from '../direct/listening.ts';
import { clientStateOf } from '../direct/modern-client-state.ts';
import { clientIn, stateOf } from '../modern-client.ts';
import { modernView } from '../direct/modern-view.ts';
import type { Shown } from '../direct/shown.ts';
import { wireError } from '../direct/outcome.ts';
import { shownIn } from '../shown-in.ts';
import { beginStream, frame, respondError, writeEvent } from '../http/response.ts';
import { HUB_INFO, modernHub } from '../hub-endpoint.ts';
import { emptySubscription } from './empty-subscription.ts';
import type { Hub } from '../hub/hub.ts';
import { isRequest, type NotificationMessage, type RequestMessage } from '../message.ts';
import { answer } from '../open-requests.ts';
import { modernNotification, modernResult, type ModernEndpoint } from './endpoint.ts';
import { RequestTransport, statusOf } from './transport.ts';
import { validate, type Rejection } from './validate.ts';
import { Windows } from './windows.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

interface ModernOptions {
  gateway: Gateway;
  hub: Hub | undefined;
  mayRunCommands: boolean;
  /** After how long a direct call is offered as a task to a client that supports tasks. */
  taskAfterMs: number;
}

/** Modern clients over HTTP: each request is independent and belongs to a state of its sender. */
export class ModernRequests {
  readonly #options: ModernOptions;
  readonly #gateway: Gateway;
  readonly #windows: Windows;
  readonly #open = new InFlight<RequestTransport, RequestTransport>();
  readonly #listening = new Map<ServerResponse, Session>();
  /** What each session shows natively. */
  readonly #endpoints = new WeakMap<Shown, ModernEndpoint>();
  readonly #onSessionEnded: (session: Session, ending: Ending) => void;
  readonly #isInDoubt = (): boolean => this.#gateway.isInDoubt;
  readonly #onOver = (transport: RequestTransport): void => void this.#open.delete(transport);

  constructor(options: ModernOptions) {
    this.#options = options;
    this.#gateway = options.gateway;
    const { clock, store } = options.gateway;
    this.#windows = new Windows(clock, { forwarded: store.cluster !== undefined });
    this.#onSessionEnded = (ended, { by }) => {
      for (const [res, session] of this.#listening) if (session === ended) res.end();
      if (by !== 'successor') return;
      for (const transport of this.#open.values()) if (transport.session === ended) transport.hangUp();
    };
    options.gateway.onSessionEnded.add(this.#onSessionEnded);
  }

  handle(req: IncomingMessage, res: ServerResponse, body: unknown, whom: Addressed): Promise<void> | undefined {
    const verdict = validate(req.headers, body);
    switch (verdict.kind) {
      case 'rejected':
        this.#reject(res, verdict.rejection);
        return undefined;
      case 'ignored':
        res.writeHead(202).end();
        return undefined;
      case 'valid':
        break;
    }
    const { message } = verdict;
    if (!isRequest(message)) return this.#notified(res, message, whom);
    if (message.method === 'subscriptions/listen') return this.#listen(res, message, whom);
    return this.#answer(req, res, message, whom);
  }

  #reject(res: ServerResponse, { id, error: { code, message, data } }: Rejection): void {
    this.#gateway.log.debug('client_protocol_error', { error: message });
    respondError(res, 400, code, message, { id, data });
  }

  close(): void {
    this.#gateway.onSessionEnded.delete(this.#onSessionEnded);
    for (const res of this.#listening.keys()) res.end();
    for (const transport of this.#open.values()) transport.stop();
  }

  /** Avoids awaits on the fast path. */
  #answer(
    req: IncomingMessage,
    res: ServerResponse,
    message: RequestMessage,
    whom: Addressed,
  ): Promise<void> | undefined {
    const { principal, facts, view, as } = whom;
    const state = this.#gateway.stateOf({ principal, view, name: stateOf(as, metaOf(message.params ?? {})), facts });
    return state instanceof Promise
      ? state.then((session) => this.#answerIn(session, req, res, message, whom))
      : this.#answerIn(state, req, res, message, whom);
  }

  #answerIn(
    session: Session,
    req: IncomingMessage,
    res: ServerResponse,
    message: RequestMessage,
    whom: Addressed,
  ): Promise<void> | undefined {
    if (res.destroyed) return undefined;
    if (session.access !== undefined) return this.#answerRestricted(session, req, res, message, whom);
    const { transport, shown } = this.#begin(session, req, res, message, whom);
    if (shown instanceof Promise) return shown.then((endpoint) => void this.#answerAt(endpoint, transport, message));
    void this.#answerAt(shown, transport, message);
    return undefined;
  }

  /** The same with access rules: the request's own token decides until it is answered. */
  async #answerRestricted(
    session: Session,
    req: IncomingMessage,
    res: ServerResponse,
    message: RequestMessage,
    whom: Addressed,
  ): Promise<void> {
    const begun = new BegunRequest(session, whom.facts);
    let answering: Promise<void> | undefined;
    try {
      const { transport, shown } = this.#begin(session, req, res, message, whom, begun);
      const endpoint = shown instanceof Promise ? await shown : shown;
      // Another request may have arrived meanwhile.
      session.access?.use(whom.facts);
      answering = this.#answerAt(endpoint, transport, message);
    } finally {
      if (answering === undefined) begun.end();
      else void answering.finally(() => begun.end());
    }
  }

  #begin(
    session: Session,
    req: IncomingMessage,
    res: ServerResponse,
    message: RequestMessage,
    whom: Addressed,
    begun?: BegunRequest,
  ): { transport: RequestTransport; shown: ModernEndpoint | Promise<ModernEndpoint> } {
    // Not earlier: another gateway may own the state, and then the request is forwarded.
    const transport = new RequestTransport(res, this.#onOver, this.#isInDoubt);
    transport.session = session;
    this.#open.add(transport, transport);
    const shown =
      whom.view.kind === 'hub'
        ? this.#hubEndpoint(session, message, whom.forwarded?.connection ?? req.socket)
        : this.#nativeEndpoint(session, message, whom.view, begun);
    return { transport, shown };
  }

  /** Does nothing if the client has left meanwhile. */
  #answerAt(endpoint: ModernEndpoint, transport: RequestTransport, message: RequestMessage): Promise<void> | undefined {
    if (transport.over) return undefined;
    const request = new ClientRequest(message, transport, this.#gateway.settings.calls.onCancel);
    return answer(request, transport, () => modernResult(endpoint, request));
  }

  #hubEndpoint(session: Session, { id }: RequestMessage, connection: ClientConnection): ModernEndpoint {
    const { hub, mayRunCommands } = this.#options;
    if (hub === undefined) throw new Error('a hub request at a listener without a hub');
    return modernHub({ hub, session, mayRunCommands, reader: this.#windows.readerOf(session, id, connection) });
  }

  #nativeEndpoint(
    own: Session,
    message: RequestMessage | NotificationMessage,
    view: NativeView,
    begun?: BegunRequest,
  ): ModernEndpoint | Promise<ModernEndpoint> {
    const owner = this.#ownerOf(own, message);
    if (!(owner instanceof Promise)) return this.#endpointIn(owner, view);
    return owner.then((session) => {
      begun?.joins(session);
      return this.#endpointIn(session, view);
    });
  }

  #endpointIn(session: Session, view: NativeView): ModernEndpoint | Promise<ModernEndpoint> {
    const shown = shownIn(this.#gateway, session, view);
    return shown instanceof Promise
      ? shown.then((each) => this.#endpointOf(session, each))
      : this.#endpointOf(session, shown);
  }

  #endpointOf(session: Session, shown: Shown): ModernEndpoint {
    const known = this.#endpoints.get(shown);
    if (known !== undefined) return known;
    const { gateway, hub, mayRunCommands, taskAfterMs } = this.#options;
    const clientState = clientStateOf(session, shown);
    const helpers = hub && session.hasHubTools ? new HelperTools(hub, session, mayRunCommands) : undefined;
    const endpoint = modernView({ gateway, session, shown, helpers, clientState, taskAfterMs });
    this.#endpoints.set(shown, endpoint);
    return endpoint;
  }

  async #notified(
    res: ServerResponse,
    message: NotificationMessage,
    { principal, facts, view, as }: Addressed,
  ): Promise<void> {
    if (view.kind !== 'hub') {
      const meta = metaOf(message.params ?? {});
      // Notifications do not name their client: they belong to the most recently used state.
      const isNameless = as === undefined && clientIn(meta).program === undefined;
      const latest = isNameless ? this.#gateway.latestState(principal, view) : undefined;
      const session = latest ?? (await this.#gateway.stateOf({ principal, view, name: stateOf(as, meta), facts }));
      const leave = session.access?.begin(facts);
      try {
        modernNotification(await this.#nativeEndpoint(session, message, view), message);
      } finally {
        leave?.();
      }
    }
    res.writeHead(202).end();
  }

  /** The session of the task that a request refers to: another program of the same principal may have started it. */
  #ownerOf(own: Session, { method, params }: RequestMessage | NotificationMessage): Session | Promise<Session> {
    const taskId = method.startsWith('tasks/') ? params?.['taskId'] : undefined;
    if (typeof taskId !== 'string' || own.tasks.find(taskId) !== undefined) return own;
    const has = ({ tasks }: Session): boolean => tasks.find(taskId) !== undefined;
    return this.#gateway.otherStates(own).then((others) => others.find(has) ?? own);
  }

  /** Reports changes on a stream. */
  async #listen(res: ServerResponse, message: RequestMessage, whom: Addressed): Promise<void> {
    const { principal, facts, view, as } = whom;
    const { id, params = {} } = message;
    if (view.kind === 'hub') {
      const transport = new RequestTransport(res, () => {});
      for (const each of emptySubscription(message, HUB_INFO)) transport.send(each);
      return;
    }
    const send = (message: unknown): void => {
      // An ended response stays open until a slow client has read all of it.
      if (res.writableEnded || res.destroyed) return;
      if (this.#isInDoubt()) {
        res.destroy();
        return;
      }
      if (!res.headersSent) beginStream(res);
      writeEvent(res, frame(stringifyExact(message)));
    };
    const meta = metaOf(params);
    const session = await this.#gateway.stateOf({ principal, view, name: stateOf(as, meta), facts });
    const leave = session.access?.begin(facts);
    const client = clientIn(meta);
    let shown: Shown | undefined;
    let stop: () => void;
    try {
      shown = await shownIn(this.#gateway, session, view);
      stop = await openSubscription(
        { session, shown, clientState: clientStateOf(session, shown), client, id, send },
        params,
      );
    } catch (error) {
      if (error instanceof GatewayError || shown === undefined) throw error;
      const { code, message, data } = wireError(shown.label, error);
      respondError(res, statusOf(code, 400), code, message, { id, data });
      return;
    } finally {
      leave?.();
    }
    this.#hold(res, session, stop);
  }

  #hold(res: ServerResponse, session: Session, stop: () => void): void {
    this.#listening.set(res, session);
    // The token of the stream decides what it may see; the client reopens it with its current token.
    const onAccessChanged = (): void => void res.end();
    session.onAccessChanged.add(onAccessChanged);
    const over = (): void => {
      session.onAccessChanged.delete(onAccessChanged);
      this.#listening.delete(res);
      stop();
    };
    if (res.destroyed) over();
    else res.once('close', over);
  }
}

/** An open request under the access of its own token: in its state, and in the state of the task it refers to. */
class BegunRequest {
  readonly #own: Session;
  readonly #facts: TokenFacts | undefined;
  readonly #leave: ((() => void) | undefined)[];

  constructor(own: Session, facts: TokenFacts | undefined) {
    this.#own = own;
    this.#facts = facts;
    this.#leave = [own.access?.begin(facts)];
  }

  joins(session: Session): void {
    if (session !== this.#own) this.#leave.push(session.access?.join(this.#facts));
  }

  end(): void {
    for (const leave of this.#leave.splice(0)) leave?.();
  }
}

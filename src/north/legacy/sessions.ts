import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatewayError, isShuttingDown, shuttingDown } from '../../core/errors.ts';
import { canBeNamed } from '../../core/cluster/claims.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Ending } from '../../core/call/request.ts';
import type { Session } from '../../core/session/session.ts';
import { messageOf } from '../../lib/log.ts';
import { SESSION_VERSIONS } from '../../lib/protocol.ts';
import { REQUEST_LEFT } from '../cancel-reasons.ts';
import { isInitialize, type Initialization } from '../client-info.ts';
import type { Addressed } from '../http/addressed.ts';
import { isSameView } from '../../core/session/kind.ts';
import type { Shown } from '../direct/shown.ts';
import { introducedIn, shownAgain } from '../shown-in.ts';
import { HelperTools } from '../all/helper-tools.ts';
import { LegacyView } from '../direct/legacy-view.ts';
import { respondError, respondGatewayError } from '../http/response.ts';
import { hubPeer } from '../hub-endpoint.ts';
import type { Hub } from '../hub/hub.ts';
import { whenStored } from '../commit-gate.ts';
import { idOf, isResponse, type ErrorMessage, type Message, type RequestId, type ResultMessage } from '../message.ts';
import { lostRequest } from '../lost-request.ts';
import type { ClientPeer } from '../peer.ts';
import { clientRecord, understandsEmptyEvents } from './client.ts';
import { LegacyTransport } from './transport.ts';

interface Served {
  session: Session;
  transport: LegacyTransport;
  peer: ClientPeer;
}

interface LegacyOptions {
  gateway: Gateway;
  /** Without a hub, questions that the client cannot be asked are refused. */
  hub: Hub | undefined;
  mayRunCommands: boolean;
}

/** Legacy clients over HTTP: each session has its own transport and peer. */
export class LegacySessions {
  readonly #served = new Map<string, Served>();
  readonly #options: LegacyOptions;
  readonly #onSessionEnded: (session: Session, ending: Ending) => void;

  constructor(options: LegacyOptions) {
    this.#options = options;
    this.#onSessionEnded = ({ id }, { by }) => {
      const transport = this.#served.get(id)?.transport;
      if (transport === undefined) return;
      transport.comesBack = by !== 'client';
      transport.isElsewhere = by === 'successor';
      transport.close();
    };
    options.gateway.onSessionEnded.add(this.#onSessionEnded);
  }

  handle(req: IncomingMessage, res: ServerResponse, body: unknown, whom: Addressed): Promise<void> | undefined {
    const sessionId = req.headers['mcp-session-id'];
    const served = typeof sessionId === 'string' ? this.#ofClient(sessionId, whom) : undefined;
    return served === undefined
      ? this.#handleOther(req, res, body, whom)
      : this.#inSession(served, req, res, body, whom);
  }

  /** A request that belongs to no session in memory. */
  async #handleOther(req: IncomingMessage, res: ServerResponse, body: unknown, whom: Addressed): Promise<void> {
    const sessionId = req.headers['mcp-session-id'];
    if (typeof sessionId === 'string') {
      const served = this.#served.has(sessionId) ? undefined : await this.#restore(sessionId, whom);
      if (served === undefined) throw this.#notFound();
      await this.#inSession(served, req, res, body, whom);
    } else if (req.method === 'POST' && isInitialize(body)) {
      await this.#initialize(res, body, whom);
    } else {
      const id = idOf(body);
      respondError(res, 400, -32000, 'no Mcp-Session-Id header: start with an initialize request', { id });
    }
  }

  close(): void {
    this.#options.gateway.onSessionEnded.delete(this.#onSessionEnded);
    for (const { transport } of this.#served.values()) transport.close();
  }

  get counts(): { sessions: number; streams: number; requests: number } {
    const all = [...this.#served.values()].map(({ transport }) => transport.counts);
    const sum = (key: 'streams' | 'requests'): number => all.reduce((total, each) => total + each[key], 0);
    return { sessions: all.length, streams: sum('streams'), requests: sum('requests') };
  }

  async #initialize(
    res: ServerResponse,
    body: { id: RequestId; params: Initialization },
    { principal, facts, view, forwarded }: Addressed,
  ): Promise<void> {
    const { gateway } = this.#options;
    let session: Session | undefined;
    let shown: Shown | undefined;
    try {
      session = await gateway.open(principal, { view, owner: { kind: 'client', client: clientRecord(body) }, facts });
      await whenStored([session]);
      // The result of `initialize` describes this server.
      if (view.kind !== 'hub') shown = await introducedIn(gateway, session, view);
    } catch (error) {
      // The forwarding gateway finds another owner.
      const isAnswered = error instanceof GatewayError && !(forwarded && isShuttingDown(error));
      if (isAnswered) respondGatewayError(res, error, { id: idOf(body) });
      if (session) await gateway.end(session, 'the session could not be started');
      if (!isAnswered) throw error;
      return;
    }
    this.#serve(session, false, shown).transport.post(res, body as unknown as Message);
  }

  #serve(session: Session, restored: boolean, shown?: Shown): Served {
    const transport = new LegacyTransport(session.id, {
      isInDoubt: () => this.#options.gateway.isInDoubt,
      primesStreams: understandsEmptyEvents(session.client),
      lost: restored ? lostRequest('gateway restarted', session.hasHubTools) : undefined,
    });
    transport.onStreamOpen = () => session.presence.hold();
    const onAccessChanged = (): void => transport.endStanding();
    session.onAccessChanged.add(onAccessChanged);
    const { peer, close } = this.#peerOf(session, transport, shown);
    transport.onmessage = (message) => peer.receive(message);
    transport.onRequestLeft = (id) => peer.cancel(id, REQUEST_LEFT);
    transport.onclose = () => {
      this.#served.delete(session.id);
      session.onAccessChanged.delete(onAccessChanged);
      close();
      peer.close();
    };
    const served = { session, transport, peer };
    this.#served.set(session.id, served);
    return served;
  }

  #peerOf(session: Session, transport: LegacyTransport, introduced?: Shown): { peer: ClientPeer; close: () => void } {
    const { gateway, hub, mayRunCommands } = this.#options;
    if (session.view.kind === 'hub') {
      if (hub === undefined) throw new Error('a hub session at a listener without a hub');
      return { peer: hubPeer({ hub, gateway, session, carrier: transport, mayRunCommands }), close: () => {} };
    }
    const shown = introduced ?? shownAgain(gateway, session, session.view);
    const helpers = hub && session.hasHubTools ? new HelperTools(hub, session, mayRunCommands) : undefined;
    const view = new LegacyView({ gateway, session, shown, carrier: transport, helpers, alone: hub === undefined });
    transport.onReachable = (requests) => view.responder.reachable(requests);
    transport.onStandingAgain = () => view.responder.standingAgain();
    transport.onUnreachable = (requests) => view.responder.unreachable(requests);
    return { peer: view.peer, close: () => view.close() };
  }

  /** The session that a client names, if it is its own. */
  #ofClient(sessionId: string, { principal, view }: Addressed): Served | undefined {
    const served = this.#served.get(sessionId);
    return served?.session.principal === principal && isSameView(served.session.view, view) ? served : undefined;
  }

  /** The same for a session from before a restart. */
  async #restore(sessionId: string, { principal, view }: Addressed): Promise<Served | undefined> {
    if (!canBeNamed(sessionId)) return undefined;
    const session = await this.#options.gateway.restore(sessionId, principal);
    if (session === undefined || !isSameView(session.view, view)) return undefined;
    // Two requests may have arrived at the same moment.
    return this.#served.get(sessionId) ?? this.#serve(session, true);
  }

  /** During shutdown, a session must not be reported as unknown, or its client would forget it. */
  #notFound(): GatewayError {
    if (this.#options.gateway.closing) return shuttingDown();
    const message = 'session not found: unknown or ended; start a new one with initialize';
    return new GatewayError('TOOL_ERR_SESSION_NOT_FOUND', message);
  }

  /** Confirmed once stored: otherwise the session would be back after a restart. */
  async #end(session: Session, res: ServerResponse): Promise<void> {
    const { gateway } = this.#options;
    // A session that this gateway is leaving keeps its data, and its client asks the next gateway to end it.
    if (session.comesBack) throw shuttingDown();
    await gateway.end(session, 'the client ended the session');
    await whenStored([session]);
    res.writeHead(200).end();
  }

  #inSession(
    served: Served,
    req: IncomingMessage,
    res: ServerResponse,
    body: unknown,
    whom: Addressed,
  ): Promise<void> | undefined {
    const version = req.headers['mcp-protocol-version'];
    if (typeof version === 'string' && !SESSION_VERSIONS.includes(version)) {
      const supported = SESSION_VERSIONS.join(', ');
      respondError(res, 400, -32000, `unsupported MCP-Protocol-Version '${version}'; supported: ${supported}`);
      return undefined;
    }
    served.session.presence.touch();
    served.session.access?.use(whom.facts);
    switch (req.method) {
      case 'POST':
        if (isResponse(body)) return this.#answered(served, res, body, whom);
        served.transport.post(res, body as Message | Message[]);
        break;
      case 'GET':
        served.transport.get(req, res);
        break;
      case undefined:
      default:
        return this.#end(served.session, res);
    }
    return undefined;
  }

  /**
   * Clients answer a question once. So an answer is accepted once it is stored, or kept until it can be; an answer to a question that
   * is unknown here goes to the gateway that owns the session, which may have asked.
   */
  async #answered(
    { session, transport, peer }: Served,
    res: ServerResponse,
    answer: ResultMessage | ErrorMessage,
    whom: Addressed,
  ): Promise<void> {
    const { gateway } = this.#options;
    const method = peer.askedWith(answer.id);
    if (method === undefined && gateway.mayHaveLost) {
      // Ownership is known again once the database is reachable. Until then, no other gateway can have taken the session.
      await whenStored([session]).catch(() => gateway.certain());
      if (session.ended) {
        const served = await this.#restore(session.id, whom);
        if (served === undefined) throw this.#notFound();
        return this.#answered(served, res, answer, whom);
      }
    }
    transport.onmessage(answer);
    if (method !== undefined && method !== 'ping') {
      // By then the answer is queued in the store. If the write fails, it is retried, or the question is asked again.
      await nextTurn();
      await whenStored([session]).catch((error: unknown) => {
        gateway.log.debug('answer_not_stored_yet', { sessionId: session.id, error: messageOf(error) });
      });
    }
    res.writeHead(202).end();
  }
}

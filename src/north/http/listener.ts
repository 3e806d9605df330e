import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Budget } from '../../core/budget.ts';
import { GatewayError, isShuttingDown, known, OwnedElsewhere, shuttingDown } from '../../core/errors.ts';
import { statesKey } from '../../core/cluster/claims.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Accounts } from '../../core/ports/accounts.ts';
import type { Identity } from '../../core/ports/identity.ts';
import type { Store } from '../../core/ports/store.ts';
import { messageOf } from '../../lib/log.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR } from '../../lib/rpc-error.ts';
import { ANSWER_PATH } from '../../core/notify/answer-link.ts';
import type { AnswerPages, AnswerSettings } from '../answer/answer-pages.ts';
import type { SignInPages, SignInPagesParts } from '../oauth/sign-in-pages.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Console, ConsoleSettings } from '../console/console.ts';
import type { Person } from '../console/person.ts';
import type { ConsoleWork } from '../console/work/work.ts';
import { ALL_SERVERS, findGroup } from '../../core/groups.ts';
import { directView, groupView, type DirectView, type HubView, type View } from '../../core/session/kind.ts';
import { idOf } from '../message.ts';
import { parseBody, readBody, type Body } from './body.ts';
import { Guard, type GuardSettings } from './guard.ts';
import { eraOf, messageMistake } from './message.ts';
import { loadOnce } from '../../lib/load-once.ts';
import type { Eras } from './eras.ts';
import { FORWARDED, stateNamed, type Addressed, type ForwardedRequest } from './addressed.ts';
import { AuthError } from './protected-resource.ts';
import { setRecipient, type ResponseReader } from './unread.ts';
import { respondError, respondGatewayError, respondJson } from './response.ts';

interface Pages {
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> | void;
}

export interface HttpSettings extends GuardSettings {
  port: number;
  allowCommands: boolean;
  direct: { taskAfterMs: number };
  limits: { bodyBytes: number };
  /** The response of `/metrics`; without it, the path does not exist. */
  metrics?: () => Promise<{ contentType: string; text: string }>;
  /** The URL of this gateway for others on the same store; by default where it listens. */
  advertise?: string | undefined;
  /** Without it, there is neither a console nor an API. */
  console?: ConsoleSettings;
  /** Without it, there are no links that answer questions. */
  answerPages?: AnswerSettings | undefined;
  /** For sign-ins to servers. */
  signIns?: Pick<SignInPagesParts, 'clientMetadata'> & { base?: () => string };
}

const IN_DOUBT = 'this gateway was suspended and is checking which sessions it still owns; try again';

const NOT_ALL_SERVERS =
  'metrics name all servers, and the access rules hide some from this principal; add a rule that lets it use all of them';

/** When to retry after an issuer could not be reached. */
const ISSUER_RETRY_S = '5';

/** Bodies up to this size are not counted. */
const SMALL_BODY = 65_536;
const METHODS = 'GET, POST, DELETE, OPTIONS';
const HEADERS =
  'accept, authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id, meanwhile-as';

/** The HTTP listener: reads each message once, checks its sender, decides its era and passes it on. */
export class HttpListener {
  readonly #server: Server;
  readonly #guard: Guard;
  readonly #settings: HttpSettings;
  readonly #gateway: Gateway;
  /** The view at `/mcp`: the hub, with every server beside it, or the only server. */
  readonly #root: HubView | DirectView;
  /** Loaded with the first message of a client: an idle gateway does without half of the program. */
  #eras: Eras | undefined;
  readonly #loadEras = loadOnce(async () => {
    const { createEras } = await import('./eras.ts');
    this.#eras = createEras(this.#gateway, this.#root, this.#settings);
    return this.#eras;
  });
  /** By principal. */
  readonly #recipients = new Map<string, ResponseReader>();
  /** The other gateways on the same store, if it supports several. */
  #cluster: Cluster | undefined;
  /** Loaded with the first request for it. */
  #console: Promise<Console> | undefined;
  /** Loaded with the first request for it. */
  #answers: Promise<AnswerPages> | undefined;
  /** Loaded with the first request for it. */
  #signIns: Promise<SignInPages> | undefined;
  /** The URL of the hub, once it listens. */
  #url = '';
  #ready = false;
  #closed: Promise<void> = Promise.resolve();

  /** Shows the hub and every server, or only one server. */
  constructor(gateway: Gateway, root: HubView | DirectView, settings: HttpSettings) {
    this.#gateway = gateway;
    this.#root = root;
    this.#settings = settings;
    this.#guard = new Guard(settings, () => this.#url);
    this.#server = createServer((req, res) => {
      if (res.socket === null) closeWithConnection(req, res);
      try {
        this.#handle(req, res)?.catch((error: unknown) => this.#failed(res, error));
      } catch (error) {
        this.#failed(res, error);
      }
    });
    // With Node's default of 5 s, clients would have to reconnect for most requests.
    this.#server.keepAliveTimeout = 65_000;
  }

  /** Resolves with the address of the hub, or of the only server. */
  async listen(): Promise<string> {
    const { host, port, advertise } = this.#settings;
    this.#cluster = await this.#joinCluster();
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => {
        const { code } = error;
        const inUse = `port ${port} on ${host} is in use; choose another \`port\` (0 selects any free port)`;
        // Keeps the code, so that the command line can name the flag instead.
        reject(code === 'EADDRINUSE' ? Object.assign(new Error(inUse), { code }) : error);
      });
      this.#server.listen(port, host, resolve);
    });
    this.#ready = true;
    const { address, port: bound, family } = this.#server.address() as AddressInfo;
    const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}/mcp`;
    this.#url = url;
    try {
      await this.#cluster?.announce(url, advertise);
    } catch (error) {
      await this.close();
      throw error;
    }
    return url;
  }

  async #joinCluster(): Promise<Cluster | undefined> {
    const { clock, log, observed, store } = this.#gateway;
    if (store.cluster === undefined) return undefined;
    const [{ joinCluster }, { answerNeighbour }] = await Promise.all([
      import('../cluster/cluster.ts'),
      import('../hub/answer-neighbour.ts'),
    ]);
    const gateway = this.#gateway;
    return joinCluster({
      store: store.cluster,
      clock,
      log,
      observed,
      announce: async (address, neighbours) => gateway.announce(address, neighbours),
      answerer: async (principal, request, exchange) => {
        const answer =
          request.ask === 'console'
            ? await this.#doForNeighbour({ principal, operator: request.operator, facts: request.facts }, request.work)
            : await answerNeighbour({ hub: (await this.#loadEras()).hub, gateway }, principal, request, exchange);
        if (gateway.isInDoubt) throw new Error(IN_DOUBT);
        return answer;
      },
    });
  }

  /** A console request of a person at another gateway. */
  async #doForNeighbour(person: Person, work: unknown): Promise<unknown> {
    const { tellNeighbour } = await import('../console/work/anywhere.ts');
    return tellNeighbour(this.#gateway, person, work as ConsoleWork);
  }

  /** Accepts no new connections. Requests that are open can finish. */
  stopListening(): void {
    if (!this.#ready) return;
    this.#ready = false;
    this.#closed = new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** Waits until forwarded requests have ended, at most this long. */
  async drain(ms: number): Promise<void> {
    await this.#cluster?.drain(ms);
  }

  async close(): Promise<void> {
    this.stopListening();
    this.#eras?.legacy.close();
    this.#eras?.modern.close();
    this.#server.closeAllConnections();
    this.#cluster?.close();
    await this.#closed;
  }

  get counts(): { sessions: number; streams: number; requests: number } {
    return this.#eras?.legacy.counts ?? { sessions: 0, streams: 0, requests: 0 };
  }

  #failed(res: ServerResponse, error: unknown): void {
    this.#gateway.log.error('request_failed', { error: messageOf(error) });
    respondError(res, 500, INTERNAL_ERROR, 'internal error');
  }

  /** Avoids awaits: the fast path of a client's request. */
  #handle(req: IncomingMessage, res: ServerResponse): Promise<void> | undefined {
    const path = pathOf(req.url ?? '/');
    const isForwarded = this.#cluster !== undefined && req.headers[FORWARDED] !== undefined;
    const isUsual = isForClients(path) && !isForwarded && !this.#gateway.isInDoubt;
    return isUsual ? this.#admit(req, res, path) : this.#handleOther(req, res, path);
  }

  /**
   * Serves what `#handle` sorts out: requests for other paths, forwarded ones, and all of them while it is in doubt which sessions this
   * gateway has.
   */
  async #handleOther(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    if (path === '/healthz') {
      respondJson(res, 200, '{"status":"ok"}');
      return;
    }
    if (path === '/readyz') {
      await this.#readiness(res);
      return;
    }
    const pages = this.#pagesAt(path, req);
    if (pages !== undefined) {
      await (await pages).handle(req, res, path);
      return;
    }
    // Metrics must not wait for an unreachable database, which they report.
    if (this.#gateway.isInDoubt && path !== '/metrics' && !(await this.#gateway.certain())) {
      // Another gateway may own the session and do the same.
      respondError(res, 503, -32000, IN_DOUBT, { headers: { 'retry-after': '1', connection: 'close' } });
      return;
    }
    if (this.#cluster !== undefined && req.headers[FORWARDED] !== undefined) {
      await this.#forwarded(this.#cluster, req, res, path);
      return;
    }
    await this.#admit(req, res, path);
  }

  /** Checks who sends the request, and serves it. */
  #admit(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> | undefined {
    if (this.#guard.resource?.describe(req, res, path)) return undefined;
    let identity: Identity | Promise<Identity>;
    try {
      this.#guard.checkOrigin(req);
      allowOrigin(req, res);
      if (req.method === 'OPTIONS') {
        res.writeHead(204).end();
        return undefined;
      }
      identity = this.#guard.identityOf(req, path);
    } catch (error) {
      this.#refuse(req, res, error);
      return undefined;
    }
    if (!(identity instanceof Promise)) return this.#serveAs(path, req, res, identity);
    return identity.then(
      (found) => this.#serveAs(path, req, res, found),
      (error: unknown) => this.#refuse(req, res, error),
    );
  }

  #refuse(req: IncomingMessage, res: ServerResponse, error: unknown): void {
    if (!(error instanceof GatewayError)) throw error;
    // Without a token, clients ask how to get one.
    if (error.code === 'TOOL_ERR_UNAUTHORIZED' && req.headers.authorization !== undefined) {
      this.#gateway.audit?.signInRefused('mcp', req.socket.remoteAddress);
    }
    respondGatewayError(res, error, { headers: headersFor(error) });
  }

  #serveAs(path: string, req: IncomingMessage, res: ServerResponse, identity: Identity): Promise<void> | undefined {
    const { metrics } = this.#settings;
    if (path !== '/metrics' || metrics === undefined) return this.#at(path, req, res, identity);
    if (this.#gateway.seesAll(identity)) return respondMetrics(req, res, metrics);
    respondError(res, 403, -32000, NOT_ALL_SERVERS);
    return undefined;
  }

  /** The pages at this path, if it is for people. */
  #pagesAt(path: string, req: IncomingMessage): Promise<Pages> | undefined {
    const console = isOfConsole(path, req) ? this.#openConsole() : undefined;
    if (console !== undefined) return console;
    if (this.#settings.answerPages !== undefined && path.startsWith(ANSWER_PATH)) {
      return (this.#answers ??= this.#loadAnswers(this.#settings.answerPages));
    }
    if (this.#gateway.accounts !== undefined && path.startsWith('/oauth/')) {
      return (this.#signIns ??= this.#loadSignIns(this.#gateway.accounts));
    }
    return undefined;
  }

  /** `undefined` if there is none. */
  #openConsole(): Promise<Console> | undefined {
    const { console } = this.#settings;
    if (console !== undefined) this.#console ??= this.#loadConsole(console);
    return this.#console;
  }

  async #loadConsole(settings: ConsoleSettings): Promise<Console> {
    const { Console } = await import('../console/console.ts');
    const { bodyBytes } = this.#settings.limits;
    return new Console({ gateway: this.#gateway, guard: this.#guard, settings, bodyBytes, hubUrl: this.#url });
  }

  async #loadSignIns(accounts: Accounts): Promise<SignInPages> {
    const { SignInPages } = await import('../oauth/sign-in-pages.ts');
    const { accessOf } = await import('../console/person.ts');
    const gateway = this.#gateway;
    const guard = this.#guard;
    const { signIns } = this.#settings;
    const console = guard.isOpen ? undefined : ((await this.#openConsole()) ?? 'off');
    const base = signIns?.base ?? ((): string => new URL(this.#url).origin);
    const mayKnow: SignInPagesParts['mayKnow'] =
      gateway.access && ((person, server) => accessOf(gateway, person)({ server }));
    const clientMetadata = signIns?.clientMetadata;
    return new SignInPages({ gateway, mayKnow, accounts, guard, console, base, clientMetadata });
  }

  async #loadAnswers(settings: AnswerSettings): Promise<AnswerPages> {
    const { AnswerPages } = await import('../answer/answer-pages.ts');
    return new AnswerPages({ gateway: this.#gateway, guard: this.#guard, settings });
  }

  /** A request that another gateway has checked. It is not forwarded again. */
  async #forwarded(cluster: Cluster, req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const received = cluster.receive(req, res);
    if (received === undefined) return;
    try {
      await this.#at(path, req, res, received, received);
    } catch (error) {
      if (!(error instanceof OwnedElsewhere) && !isShuttingDown(error)) throw error;
      cluster.refuse(res);
    }
  }

  #at(
    path: string,
    req: IncomingMessage,
    res: ServerResponse,
    { principal, facts }: Identity,
    forwarded?: ForwardedRequest,
  ): Promise<void> | undefined {
    const view = path === '/mcp' ? this.#root : this.#viewAt(path);
    if (view === undefined) {
      const places =
        this.#root.kind === 'hub'
          ? 'the hub is at /mcp, each server at /mcp/<its name>, and all servers at /mcp/all'
          : 'try /mcp';
      respondError(res, 404, -32000, `path '${path}' not found; ${places}`);
      return undefined;
    }
    const missing = view.kind === 'direct' ? this.#missing({ principal, facts }, view.server) : undefined;
    if (missing !== undefined) {
      respondError(res, 404, INVALID_PARAMS, missing);
      return undefined;
    }
    const named = stateNamed(req);
    if (!('mistake' in named)) return this.#mcp(req, res, { principal, facts, view, as: named.as, forwarded });
    respondError(res, 400, INVALID_PARAMS, named.mistake);
    return undefined;
  }

  /** The view at a path. Some clients append `/mcp` to the address they are given. */
  #viewAt(path: string): View | undefined {
    const [, encoded] = /^\/mcp\/([^/]+)(?:\/mcp)?$/.exec(path) ?? [];
    if (encoded === undefined) return undefined;
    const name = decoded(encoded);
    const isGroup = this.#root.kind === 'hub' && findGroup(name, this.#gateway.settings) !== undefined;
    return isGroup ? groupView(name) : directView(name);
  }

  /** The error for an unknown server; `undefined` if it exists. */
  #missing(identity: Identity, server: string): string | undefined {
    const servers = this.#gateway.serversFor(identity);
    if (servers.get(server) !== undefined) return undefined;
    const missing = `no server '${server}'; ${known(servers.list().map(({ name }) => name))}`;
    if (this.#root.kind !== 'hub') return missing;
    return `${missing}; groups: ${[ALL_SERVERS, ...Object.keys(this.#gateway.settings.groups)].join(', ')}`;
  }

  #recipient(principal: string): ResponseReader {
    const existing = this.#recipients.get(principal);
    if (existing) return existing;
    const onDisconnected = (unreadBytes: number): void =>
      this.#gateway.log.warn('slow_client_disconnected', { principal, unreadBytes });
    const recipient = { principal, onDisconnected };
    this.#recipients.set(principal, recipient);
    return recipient;
  }

  #mcp(req: IncomingMessage, res: ServerResponse, whom: Addressed): Promise<void> | undefined {
    setRecipient(res, this.#recipient(whom.principal));
    this.#gateway.identify(whom);
    switch (req.method) {
      case 'POST':
        return this.#post(req, res, whom);
      case 'GET':
        if (!accepts(req, 'text/event-stream')) {
          respondError(res, 406, -32000, 'Not Acceptable: the client must accept text/event-stream');
          return undefined;
        }
        return this.#serveOrForward(req, res, whom, () => this.#serve('legacy', req, res, whom));
      case 'DELETE':
        return this.#serveOrForward(req, res, whom, () => this.#serve('legacy', req, res, whom));
      case undefined:
      default:
        respondError(res, 405, -32000, `method ${req.method} is not allowed`, { headers: { allow: METHODS } });
        return undefined;
    }
  }

  #post(req: IncomingMessage, res: ServerResponse, whom: Addressed): Promise<void> | undefined {
    if (!isJson(req.headers['content-type'])) {
      respondError(res, 415, -32000, 'Unsupported Media Type: Content-Type must be application/json');
      return undefined;
    }
    if (!accepts(req, 'application/json') || !accepts(req, 'text/event-stream')) {
      const message = 'Not Acceptable: the client must accept both application/json and text/event-stream';
      respondError(res, 406, -32000, message);
      return undefined;
    }
    const { bodyBytes } = this.#settings.limits;
    return readBody(req, bodyBytes).then((body) => this.#posted(req, res, whom, body));
  }

  #posted(req: IncomingMessage, res: ServerResponse, whom: Addressed, body: Body): Promise<void> | undefined {
    const { bodyBytes } = this.#settings.limits;
    switch (body.kind) {
      case 'too-large':
        respondError(res, 413, -32000, `the body is larger than limits.bodyBytes = ${bodyBytes}`);
        return undefined;
      case 'broken':
        respondError(res, 400, PARSE_ERROR, `Parse error: ${body.why}`);
        return undefined;
      case 'complete':
        break;
    }
    const { bytes } = body;
    const { length } = bytes;
    const shortage = length > SMALL_BODY ? holdBody(res, length, this.#gateway.memoryOf(whom.principal)) : '';
    if (shortage !== '') {
      const message = `too many large requests are open (${shortage}); try again later`;
      respondGatewayError(res, new GatewayError('TOOL_ERR_LIMIT', message), { id: idOf(parseBody(bytes).value) });
      return undefined;
    }
    if (this.#cluster === undefined) return this.#message(req, res, whom, bytes);
    return this.#serveOrForward(req, res, whom, () => this.#message(req, res, whom, bytes), bytes);
  }

  #message(req: IncomingMessage, res: ServerResponse, whom: Addressed, bytes: Buffer): Promise<void> | undefined {
    const { value, mistake: broken } = parseBody(bytes);
    if (broken !== undefined) {
      respondError(res, 400, PARSE_ERROR, `Parse error: ${broken}`);
      return undefined;
    }
    const leaving = this.#gateway.draining && this.#cluster?.beginsCall(value) && this.#leaving(req, whom);
    if (leaving instanceof Promise) {
      // Before anything is done: the gateway that takes over the session makes the call.
      if (whom.forwarded) throw shuttingDown();
      return leaving.then(() => this.#dispatch(req, res, whom, value));
    }
    return this.#dispatch(req, res, whom, value);
  }

  #leaving({ headers }: IncomingMessage, { principal }: Addressed): Promise<void> | undefined {
    const sessionId = headers['mcp-session-id'];
    return this.#gateway.whenLeft(typeof sessionId === 'string' ? sessionId : statesKey(principal));
  }

  #dispatch(req: IncomingMessage, res: ServerResponse, whom: Addressed, value: unknown): Promise<void> | undefined {
    if (eraOf(req, value) === 'modern') return this.#serve('modern', req, res, whom, value);
    const mistake = messageMistake(value);
    if (mistake === undefined) return this.#serve('legacy', req, res, whom, value);
    respondError(res, 400, INVALID_REQUEST, `Invalid Request: ${mistake}`);
    return undefined;
  }

  /** Serves the request here, or at the gateway that owns the session. */
  #serveOrForward(
    req: IncomingMessage,
    res: ServerResponse,
    { principal, facts, view, forwarded }: Addressed,
    here: () => Promise<void> | undefined,
    body?: Buffer,
  ): Promise<void> | undefined {
    if (this.#cluster === undefined || forwarded !== undefined) return here();
    return this.#cluster.serve({ req, res, principal, facts, hasHubTools: view.kind === 'hub', body }, here);
  }

  #serve(
    era: 'legacy' | 'modern',
    req: IncomingMessage,
    res: ServerResponse,
    whom: Addressed,
    body?: unknown,
  ): Promise<void> | undefined {
    const eras = this.#eras;
    if (eras === undefined) return this.#loadEras().then(() => this.#serve(era, req, res, whom, body));
    const refuse = (error: unknown): void => {
      // The forwarding gateway then looks up the owner again.
      if (!(error instanceof GatewayError) || (whom.forwarded && isShuttingDown(error))) throw error;
      respondGatewayError(res, error, { id: idOf(body) });
    };
    try {
      return eras[era].handle(req, res, body, whom)?.catch(refuse);
    } catch (error) {
      refuse(error);
      return undefined;
    }
  }

  /** Whether the gateway accepts new clients. */
  get #isOpen(): boolean {
    return this.#ready && !this.#gateway.draining;
  }

  async #readiness(res: ServerResponse): Promise<void> {
    const problem = this.#isOpen ? await storeProblem(this.#gateway.store) : 'shutting down';
    const body = JSON.stringify(problem === undefined ? { status: 'ready' } : { status: 'not ready', problem });
    respondJson(res, problem === undefined ? 200 : 503, body);
  }
}

/** Headers that tell a client how to proceed. */
function headersFor(error: GatewayError): Record<string, string> {
  if (error.code === 'TOOL_ERR_ISSUER_UNREACHABLE') return { 'retry-after': ISSUER_RETRY_S };
  if (error instanceof AuthError) return { 'www-authenticate': error.challenge };
  return error.code === 'TOOL_ERR_UNAUTHORIZED' ? { 'www-authenticate': 'Bearer' } : {};
}

async function respondMetrics(
  { method }: IncomingMessage,
  res: ServerResponse,
  metrics: NonNullable<HttpSettings['metrics']>,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') {
    respondError(res, 405, -32000, `method ${method} is not allowed`, { headers: { allow: 'GET, HEAD' } });
    return;
  }
  const { contentType, text } = await metrics();
  res.writeHead(200, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) });
  res.end(method === 'HEAD' ? undefined : text);
}

const STORE_PROBLEMS = {
  damaged: 'the store is damaged; restart the gateway: it moves the file aside and creates a new one',
  gone: 'the store file was deleted or replaced; restart the gateway',
  unreachable: 'the database of the store cannot be reached; see the log',
};

async function storeProblem(store: Store): Promise<string | undefined> {
  const { problem } = store;
  if (problem !== undefined) return STORE_PROBLEMS[problem];
  return store.settled().then(
    () => undefined,
    () => 'the store cannot be written; see the log',
  );
}

/** Counts a large body while its request is open. Returns the exceeded limit if there is no room. */
function holdBody(res: ServerResponse, bytes: number, memory: Budget): string {
  if (!memory.take(bytes)) return memory.shortage(bytes);
  res.once('close', () => memory.give(bytes));
  return '';
}

/** Node does not close a response that waits behind another one when their connection closes. */
function closeWithConnection({ socket }: IncomingMessage, res: ServerResponse): void {
  const over = (): void => {
    res.destroy();
    res.emit('close');
  };
  socket.setMaxListeners(0);
  socket.once('close', over);
  res.once('socket', () => socket.off('close', over));
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Parameters such as a charset do not matter. */
function isJson(contentType = ''): boolean {
  return contentType === 'application/json' || /^\s*application\/json\s*(?:;|$)/i.test(contentType);
}

/** A person who opens the gateway's address in a browser gets the console. */
function isOfConsole(path: string, { headers }: IncomingMessage): boolean {
  if (path === '/') return headers.accept?.includes('text/html') === true;
  return path.startsWith('/api/') || path.startsWith('/console/') || path === '/console';
}

/** These paths have no pages for people. */
function isForClients(path: string): boolean {
  return path === '/mcp' || path.startsWith('/mcp/');
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

function accepts(req: IncomingMessage, type: string): boolean {
  const accept = req.headers.accept ?? '*/*';
  return accept.includes(type) || accept.includes('*/*') || accept.includes(`${type.split('/')[0]}/*`);
}

/** Lets a page read the responses once its origin is accepted. */
function allowOrigin(req: IncomingMessage, res: ServerResponse): void {
  const { origin } = req.headers;
  if (origin === undefined) return;
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate');
  res.setHeader('vary', 'origin');
  if (req.method !== 'OPTIONS') return;
  res.setHeader('access-control-allow-methods', METHODS);
  const asked = req.headers['access-control-request-headers'];
  res.setHeader('access-control-allow-headers', asked === undefined ? HEADERS : `${HEADERS}, ${asked}`);
  res.setHeader('access-control-max-age', '600');
}

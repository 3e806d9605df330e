import { Server, type RequestId, type ServerContext } from '@modelcontextprotocol/server';
import type { Caller } from '../../core/call/request.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { About, Connection, ConnectionStatus, ServerInfo } from '../../core/ports.ts';
import type { Desk } from '../../core/question/desks.ts';
import type { Question } from '../../core/question/question.ts';
import type { Session } from '../../core/session/session.ts';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { secretId } from '../../lib/ids.ts';
import { RpcError, rpcFailure } from '../../lib/rpc-error.ts';
import { MAX_DELAY_MS } from '../../lib/timers.ts';
import { isObject } from '../../lib/values.ts';
import { ANY_RESULT } from '../../lib/any-result.ts';
import { askClient, type Where } from '../asking/ask-client.ts';
import { openExchange, type Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import { whileWaiting } from '../waiting.ts';
import { canBeAsked, refuseUnaskable, withRelatedTask } from '../asking/asking.ts';
import { sessionFace } from './face.ts';
import { isLevel } from './levels.ts';
import { passedOnMeta, wantsAgain } from './meta.ts';
import { errorOf, resultOf, wireError, withoutResultType } from './outcome.ts';
import { ShownServer } from './shown-server.ts';
import { coreTask } from './task-views.ts';

type Params = Record<string, unknown>;
type McpRequest = ServerContext['mcpReq'];

/** How often a client that asked for no progress is pinged while it waits, so that nothing in between takes it for dead. */
const PING_MS = 10_000;
/** How long a client whose standing stream broke may take to go on with it, before others are to answer what it was asked there. */
const STANDING_GRACE_MS = 5000;
const MAX_ROUNDS = 100;
const TASKS_SINCE = '2025-11-25';
const TASK_PAGE = 100;

/** Where notifications go that belong to no request, or to one that is open. */
export interface Wire {
  send(
    message: { jsonrpc: '2.0'; method: string; params?: Params },
    options?: { relatedRequestId?: RequestId },
  ): Promise<void>;
  /** Whether something that belongs to no request would reach the client now. */
  reaches(): boolean;
}

export interface LegacyFaceParts {
  gateway: Gateway;
  session: Session;
  /** The server that is shown. */
  name: string;
  /** What the server told of itself; absent for a session of an earlier run, whose client has heard it already. */
  info?: ServerInfo | undefined;
  carrier: Carrier & Wire;
  /** There is no hub where somebody else could answer what this client cannot be asked. */
  alone?: boolean;
}

/**
 * One server as a client sees it that begins with `initialize`: requests go through as they are, calls may be tasks of the
 * 2025-11-25 protocol, and what the server asks reaches the client as requests on the stream of the call that it asks for.
 */
export class LegacyFace {
  readonly server: Server;
  readonly #gateway: Gateway;
  readonly #session: Session;
  readonly #name: string;
  readonly #carrier: Carrier & Wire;
  /** The client's request behind each request to the server that is open. */
  readonly #open = new Map<string, RequestId>();
  /** The client's request that waits for the result of each task. */
  readonly #waiting = new Map<string, RequestId>();
  /** What happens when the stream of a request of the client breaks, and when the client comes back to it. */
  readonly #streams = new Map<RequestId, { broken: () => void; back: () => void }>();
  /** Questions that were put on the standing stream. */
  readonly #standing = new Set<string>();
  /** Questions that belong to no request for certain, and the request on whose stream they were put. */
  readonly #lent = new Map<string, RequestId>();
  #standingGone: NodeJS.Timeout | undefined;
  readonly #undo: (() => void)[] = [];
  readonly #alone: boolean;
  /** Tools whose results the client was told to expect within an object. */
  readonly #wrapped = new Set<unknown>();
  #logLevel: string | undefined;

  constructor({ gateway, session, name, info, carrier, alone = false }: LegacyFaceParts) {
    this.#alone = alone;
    this.#gateway = gateway;
    this.#session = session;
    this.#name = name;
    this.#carrier = carrier;
    this.server = info === undefined ? resumedServer() : new ShownServer(sessionFace(name, info));
    // The level belongs to the server behind us.
    this.server.removeRequestHandler('logging/setLevel');
    this.server.fallbackRequestHandler = async ({ method, params = {} }, { mcpReq }) => {
      const exchange = openExchange(mcpReq, carrier);
      try {
        return await this.#handle(method, params, mcpReq, exchange);
      } catch (error) {
        const failure = wireError(name, error);
        // The SDK would rewrite some codes, which are the server's own.
        if (failure instanceof Error && 'code' in failure) exchange.failure = rpcFailure(failure as RpcError);
        throw failure;
      }
    };
    this.server.fallbackNotificationHandler = async ({ method, params }) => this.#told(method, params);
    this.#watch();
  }

  /** The client can be reached on the streams of these requests, or on a standing one that it has just opened. */
  reachable(requests: Iterable<RequestId> | 'standing'): void {
    if (requests === 'standing') this.#releaseStanding();
    else for (const id of requests) this.#streams.get(id)?.back();
    this.#session.questions.desks.offerAgain();
  }

  /** The standing stream goes on where it broke: what was on it is not lost. */
  standingAgain(): void {
    clearTimeout(this.#standingGone);
    this.#session.questions.desks.offerAgain();
  }

  /** The streams of these requests, or the standing one, have broken. */
  unreachable(requests: Iterable<RequestId> | 'standing'): void {
    if (requests !== 'standing') {
      for (const id of requests) this.#broken(id);
      return;
    }
    clearTimeout(this.#standingGone);
    this.#standingGone = setTimeout(() => this.#releaseStanding(), STANDING_GRACE_MS);
    this.#standingGone.unref();
  }

  #broken(request: RequestId): void {
    this.#streams.get(request)?.broken();
    for (const [id, open] of this.#open) if (open === request) this.#open.delete(id);
    // What belongs to no request for certain is put before whoever can be reached now.
    const left = [...this.#lent].filter(([, on]) => on === request).map(([id]) => id);
    for (const id of left) this.#session.questions.desks.release(id);
  }

  /** Whoever is there now has not seen what was put on the stream before. */
  #releaseStanding(): void {
    clearTimeout(this.#standingGone);
    // They may be put there again at once.
    const asked = [...this.#standing];
    for (const id of asked) this.#session.questions.desks.release(id);
  }

  /** The client is gone for good, or the program ends. */
  close(): void {
    clearTimeout(this.#standingGone);
    for (const undo of this.#undo) undo();
    this.#undo.length = 0;
  }

  get #connection(): Connection {
    return this.#session.connection(this.#name);
  }

  get #capabilities(): Params {
    return this.#session.client?.capabilities ?? {};
  }

  /** Hands on what the server says unasked, and how the tasks of this client are doing. */
  #watch(): void {
    const session = this.#session;
    const heard = (method: string, params: Params | undefined, about: About): void =>
      this.#notify(method, params, typeof about === 'string' ? undefined : this.#open.get(about.requestId));
    session.onHeard.add(heard);
    this.#undo.push(
      () => session.onHeard.delete(heard),
      session.controller.watch((task) => this.#taskChanged(task)),
      // Whatever belongs to no request that is open.
      session.questions.desks.attend('any', (question, over) => this.#askAnywhere(question, over)),
    );
  }

  #notify(method: string, params: Params | undefined, relatedRequestId?: RequestId): void {
    this.#carrier
      .send(
        { jsonrpc: '2.0', method, ...(params && { params }) },
        relatedRequestId === undefined ? {} : { relatedRequestId },
      )
      .catch((error: unknown) => {
        this.#gateway.log.debug('notification_not_sent', { method, error: String(error) });
      });
  }

  #taskChanged(task: Task): void {
    if (!task.promised) return;
    // What is told must be on record; a store that fails has told so elsewhere.
    this.#gateway.store.settled().then(
      () => this.#notify('notifications/tasks/status', coreTask(task)),
      () => {},
    );
  }

  /** What the client tells the server. */
  #told(method: string, params: Params | undefined): void {
    const { status } = this.#connection;
    const foreign = method === 'notifications/roots/list_changed' && era(status) !== 'legacy';
    if (!foreign) this.#connection.notify(method, params);
  }

  async #handle(method: string, params: Params, mcpReq: McpRequest, exchange: Exchange): Promise<Params> {
    this.#session.touch();
    const done = this.#session.beginRequest();
    try {
      switch (method) {
        case 'tools/call':
          return await this.#call(params, mcpReq, exchange);
        case 'tasks/get': {
          const task = this.#task(params);
          await this.#gateway.store.settled();
          return coreTask(task);
        }
        case 'tasks/result':
          return await this.#taskResult(params, mcpReq, exchange);
        case 'tasks/list':
          return await this.#listTasks(params);
        case 'tasks/cancel':
          return await this.#cancelTask(params);
        case 'logging/setLevel':
          return await this.#setLevel(params, mcpReq, exchange);
        case 'resources/subscribe':
        case 'resources/unsubscribe':
          return await this.#subscribe(method, params, mcpReq, exchange);
        case 'tools/list':
          return this.#withTaskSupport(await this.#relay(method, params, mcpReq, exchange));
        default:
          return await this.#relay(method, params, mcpReq, exchange);
      }
    } finally {
      done();
    }
  }

  // --- Calls ---

  async #call(params: Params, mcpReq: McpRequest, exchange: Exchange): Promise<Params> {
    const { name: tool, arguments: given, task, _meta: _ownMeta, ...more } = params;
    const args = given ?? {};
    if (typeof tool !== 'string' || !isObject(args)) {
      // What is wrong with it the server tells best, which need not know of tasks.
      const { task: _task, ...odd } = params;
      return this.#relay('tools/call', odd, mcpReq, exchange);
    }
    const request = { server: this.#name, tool, args };
    const orphan = wantsAgain(params) ? undefined : this.#session.tasks.takeOrphan(request);
    if (orphan) {
      return task === undefined ? this.#takeOver(orphan, mcpReq, exchange) : this.#created(orphan, mcpReq, exchange);
    }
    const meta = { ...passedOnMeta(params), ...this.#levelMeta() };
    const id = secretId();
    this.#open.set(id, mcpReq.id);
    try {
      return await this.#whileWaiting(mcpReq, exchange, `${tool} is at work`, async (onProgress) => {
        const caller: Caller = {
          onLeaving: (listener) =>
            exchange.onLeaving((leaving) => {
              // What is asked from now on must not go on this stream.
              this.#open.delete(id);
              listener(leaving);
            }),
          onProgress,
          desk: this.#desk(() => mcpReq.id),
          holdsFor: () => true,
        };
        const reply = await this.#session.calls.execute(
          this.#connection,
          {
            ...request,
            id,
            meta,
            more,
            bare: given === undefined,
            timeoutMs: MAX_DELAY_MS,
            ...(task !== undefined && { asTask: true, promised: true, ...ttlOf(task) }),
          },
          caller,
        );
        switch (reply.kind) {
          case 'result':
            exchange.whenSettled((delivered) => {
              if (delivered || exchange.cancelled) return;
              const kept = this.#session.calls.keepResult({ ...request, timeoutMs: 0 }, reply.result);
              if (kept !== undefined) exchange.whenTaken(() => this.#session.tasks.delivered(kept));
            });
            return this.#asListed(tool, withoutResultType(reply.result));
          case 'task':
            // A client may come back to a stream that broke, for what it was to bring.
            if (reply.because === 'gone') return this.#takeOver(reply.task, mcpReq, exchange);
            return this.#created(reply.task, mcpReq, exchange);
          case 'failed':
            throw errorOf(reply);
          case 'cancelled':
            throw new RpcError(-32000, 'the call was cancelled');
        }
      });
    } finally {
      // A task that asks or tells something goes on to do so, but not on this stream.
      this.#open.delete(id);
    }
  }

  /** Gives the client a task for its call. */
  async #created(task: Task, mcpReq: McpRequest, exchange: Exchange): Promise<Params> {
    const { tasks } = this.#session;
    tasks.apply(task.id, { type: 'promised' });
    this.#tellProgress(task, mcpReq);
    exchange.whenSettled((delivered) => {
      if (!exchange.cancelled) tasks.setOrphan(task.id, !delivered);
    });
    await this.#gateway.store.settled();
    return { task: coreTask(tasks.get(task.id)) };
  }

  /** The token of the call stays good until its task has ended. */
  #tellProgress(told: Task, { _meta }: McpRequest): void {
    const { id } = told;
    const progressToken = _meta?.progressToken;
    if (progressToken === undefined || hasEnded(told)) return;
    const deaf = this.#session.calls.onProgress(id, (progress) =>
      this.#notify('notifications/progress', { ...progress, progressToken }, this.#waiting.get(id)),
    );
    const forget = this.#session.controller.watch((task) => {
      if (task.id !== id || !hasEnded(task)) return;
      deaf();
      forget();
    });
  }

  /** The same call was made before, and its client did not wait: this is the one who comes back for it. */
  async #takeOver({ id }: Task, mcpReq: McpRequest, exchange: Exchange): Promise<Params> {
    const stopListening = exchange.onLeaving((leaving) => {
      if (leaving === 'cancelled') this.#session.calls.cancel(id, 'cancelled by the client');
    });
    exchange.whenSettled((delivered) => {
      if (!delivered && !exchange.cancelled) this.#session.tasks.setOrphan(id, true);
    });
    try {
      const task = await this.#ended(id, mcpReq, exchange);
      if (hasEnded(task)) exchange.whenTaken(() => this.#session.tasks.delivered(id));
      return this.#asListed(task.tool, resultOf(task));
    } finally {
      stopListening();
    }
  }

  /** Waits for the end of a task; what it asks meanwhile goes over the stream of the request that waits. */
  async #ended(taskId: string, mcpReq: McpRequest, exchange: Exchange): Promise<Task> {
    const promised = this.#session.controller.get(taskId)?.promised === true;
    const desk = this.#desk(() => mcpReq.id, promised ? taskId : undefined);
    const attend = (): (() => void) => this.#session.questions.desks.attend({ taskId }, desk);
    let closeDesk = exchange.open ? attend() : (): void => {};
    const back = (): void => {
      closeDesk();
      closeDesk = attend();
    };
    this.#streams.set(mcpReq.id, { broken: () => closeDesk(), back });
    this.#waiting.set(taskId, mcpReq.id);
    try {
      return await this.#whileWaiting(mcpReq, exchange, 'the task is at work', async (onProgress) => {
        const deaf = this.#session.calls.onProgress(taskId, onProgress);
        // Also when the stream has broken: the client may come back to it.
        const task = await this.#session.controller.until(taskId, hasEnded, { signal: mcpReq.signal }).finally(deaf);
        await this.#gateway.store.settled();
        return task;
      });
    } finally {
      if (this.#waiting.get(taskId) === mcpReq.id) this.#waiting.delete(taskId);
      this.#streams.delete(mcpReq.id);
      closeDesk();
    }
  }

  async #whileWaiting<T>(
    mcpReq: McpRequest,
    exchange: Exchange,
    what: string,
    work: Parameters<typeof whileWaiting<T>>[2],
  ): Promise<T> {
    if (exchange.progress !== undefined) return whileWaiting(exchange, what, work);
    const pinging = setInterval(() => {
      if (!exchange.reaches) return;
      // One that answers no pings may still be waiting; that it is gone shows otherwise.
      this.server
        .request({ method: 'ping' }, ANY_RESULT, { relatedRequestId: mcpReq.id, timeout: PING_MS })
        .catch(() => {});
    }, PING_MS);
    try {
      return await work(() => {});
    } finally {
      clearInterval(pinging);
    }
  }

  // --- Tasks ---

  #task({ taskId }: Params): Task {
    const task = typeof taskId === 'string' ? this.#session.controller.get(taskId) : undefined;
    if (task === undefined) throw new RpcError(-32602, `Failed to retrieve task: no task '${String(taskId)}'`);
    return task;
  }

  async #taskResult(params: Params, mcpReq: McpRequest, exchange: Exchange): Promise<Params> {
    const { id, tool } = this.#task(params);
    const task = await this.#ended(id, mcpReq, exchange);
    exchange.whenTaken(() => this.#session.tasks.setOrphan(id, false));
    return withRelatedTask(this.#asListed(tool, resultOf(task)), id);
  }

  async #listTasks({ cursor }: Params): Promise<Params> {
    const all = this.#session.controller.list();
    const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
    if (cursor !== undefined && from === 0) throw new RpcError(-32602, `Invalid cursor: ${JSON.stringify(cursor)}`);
    await this.#gateway.store.settled();
    const page = all.slice(from, from + TASK_PAGE);
    const last = page.at(-1);
    const more = last !== undefined && from + TASK_PAGE < all.length;
    return { tasks: page.map(coreTask), ...(more && { nextCursor: last.id }) };
  }

  async #cancelTask(params: Params): Promise<Params> {
    const { id, status } = this.#task(params);
    const cancelled = await this.#session.controller.cancel(id, 'cancelled by the client');
    if (cancelled === undefined)
      throw new RpcError(-32602, `Cannot cancel task: already in terminal status '${status}'`);
    return coreTask(cancelled);
  }

  // --- Everything else ---

  /** Passes a request on, and asks its client whatever the server wants to know before it answers. */
  async #relay(method: string, params: Params, mcpReq: McpRequest, exchange: Exchange): Promise<Params> {
    const id = secretId();
    const meta = { ...passedOnMeta(params), ...this.#levelMeta(), ...(exchange.progress && { progressToken: id }) };
    const { _meta: _ownMeta, ...own } = params;
    const signal = exchange.leavingSignal();
    const closeDesk = this.#session.questions.desks.attend(
      { callId: id },
      this.#desk(() => mcpReq.id),
    );
    this.#open.set(id, mcpReq.id);
    let answered: Params = {};
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const outgoing = { ...own, ...answered, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
        const onProgress = exchange.progress ?? ((): void => {});
        const result = await this.#connection.relay({ id, method, params: outgoing, signal, onProgress });
        if (result['resultType'] !== 'input_required') return withoutResultType(result);
        answered = await this.#answerRound(result, mcpReq, signal);
      }
      throw new RpcError(-32603, `the server asked for more than ${MAX_ROUNDS} rounds`);
    } finally {
      this.#open.delete(id);
      closeDesk();
      this.#session.questions.requestEnded(id);
    }
  }

  async #answerRound(
    { inputRequests, requestState }: Params,
    mcpReq: McpRequest,
    signal: AbortSignal,
  ): Promise<Params> {
    const asked = Object.entries(isObject(inputRequests) ? inputRequests : {});
    const answers = asked.map(async ([key, request]) => {
      const { method, params } = isObject(request) ? request : {};
      const asking = { method: String(method), params: isObject(params) ? params : {} };
      const options = { relatedRequestId: mcpReq.id, timeout: MAX_DELAY_MS, signal };
      return [key, await this.server.request(asking, ANY_RESULT, options)] as const;
    });
    const inputResponses = Object.fromEntries(await Promise.all(answers));
    return { ...(asked.length > 0 && { inputResponses }), ...(requestState !== undefined && { requestState }) };
  }

  async #subscribe(
    method: 'resources/subscribe' | 'resources/unsubscribe',
    params: Params,
    mcpReq: McpRequest,
    exchange: Exchange,
  ): Promise<Params> {
    const { uri } = params;
    // What is wrong with it the server tells best.
    if (typeof uri !== 'string') return this.#relay(method, params, mcpReq, exchange);
    const connection = this.#connection;
    return withoutResultType(
      await (method === 'resources/subscribe' ? connection.subscribe(uri) : connection.unsubscribe(uri)),
    );
  }

  async #setLevel(params: Params, mcpReq: McpRequest, exchange: Exchange): Promise<Params> {
    const { level } = params;
    const { era } = await this.#connection.ready();
    // A server with a standing level says itself what it takes.
    if (era === 'legacy') return this.#relay('logging/setLevel', params, mcpReq, exchange);
    if (!isLevel(level)) throw new RpcError(-32602, `there is no log level ${JSON.stringify(level)}`);
    this.#logLevel = level;
    return {};
  }

  /** Servers of the other era have no standing level, but hear of it with each request. */
  #levelMeta(): Params {
    if (this.#logLevel === undefined || era(this.#connection.status) === 'legacy') return {};
    return { 'io.modelcontextprotocol/logLevel': this.#logLevel };
  }

  /** Whatever the server says of its tools: through us every one can be called with or without a task. */
  #withTaskSupport(result: Params): Params {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    for (const tool of tools) if (isObject(tool) && isWrapped(tool['outputSchema'])) this.#wrapped.add(tool['name']);
    if ((this.#session.client?.protocolVersion ?? TASKS_SINCE) < TASKS_SINCE) return result;
    const shown = tools.map((tool: unknown) => (isObject(tool) ? withTaskSupport(tool) : tool));
    return { ...result, tools: shown };
  }

  /** In this era results are objects: what is none is shown as its tool's schema was. */
  #asListed(tool: string, result: Params): Params {
    const { structuredContent } = result;
    if (structuredContent === undefined) return result;
    if (isObject(structuredContent) && !this.#wrapped.has(tool)) return result;
    return { ...result, structuredContent: { result: structuredContent } };
  }

  // --- Questions ---

  #lend({ id }: Question, over: AbortSignal): RequestId | undefined {
    const [request] = this.#open.values();
    if (request === undefined) return undefined;
    this.#lent.set(id, request);
    over.addEventListener('abort', () => this.#lent.delete(id), { once: true });
    return request;
  }

  #askAnywhere(question: Question, over: AbortSignal): boolean {
    const { taskId } = question;
    if (canBeAsked(this.#capabilities, question)) {
      // The client of a task fetches what that asks with its result.
      if (taskId !== undefined && this.#session.tasks.find(taskId)?.promised) return false;
      return this.#desk(() => this.#lend(question, over))(question, over);
    }
    return this.#alone && refuseUnaskable(this.#session.questions, () => this.#capabilities)(question, over);
  }

  /** Puts questions to the client, on the stream of one of its requests if there is one. */
  #desk(on: () => RequestId | undefined, taskId?: string): Desk {
    return (question, over) => {
      if (!canBeAsked(this.#capabilities, question) || (on() === undefined && !this.#carrier.reaches())) return false;
      const where = (): Where | undefined => {
        const request = on();
        return request === undefined ? this.#onStanding(question, over) : { on: request };
      };
      const { questions } = this.#session;
      const { store } = this.#gateway;
      void askClient(question, over, { server: this.server, questions, store, where, taskId });
      return true;
    };
  }

  #onStanding({ id }: Question, over: AbortSignal): 'standing' | undefined {
    if (!this.#carrier.reaches()) return undefined;
    this.#standing.add(id);
    over.addEventListener('abort', () => this.#standing.delete(id), { once: true });
    return 'standing';
  }
}

/** Its client was introduced in an earlier run of the program. */
function resumedServer(): Server {
  return new Server({ name: 'meanwhile', version: '0' }, { capabilities: {} });
}

function withTaskSupport(tool: Params): Params {
  const { execution } = tool;
  return { ...tool, execution: { ...(isObject(execution) && execution), taskSupport: 'optional' } };
}

/** Whether the SDK shows a schema to clients of this era as that of an object with the value as its `result`. */
function isWrapped(outputSchema: unknown): boolean {
  return isObject(outputSchema) && outputSchema['type'] !== 'object';
}

function era(status: ConnectionStatus): string | undefined {
  return status.state === 'connected' ? status.info.era : undefined;
}

function ttlOf(task: unknown): { ttlMs?: number } {
  if (!isObject(task)) throw new RpcError(-32602, "'task' is not an object");
  const { ttl } = task;
  if (ttl === undefined || ttl === null) return {};
  if (typeof ttl !== 'number' || !Number.isFinite(ttl) || ttl < 0) {
    throw new RpcError(-32602, "'task.ttl' is not a number of milliseconds");
  }
  return { ttlMs: Math.max(1, Math.floor(ttl)) };
}

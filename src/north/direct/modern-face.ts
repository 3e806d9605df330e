import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import type { Caller, CallReply, CallRequest } from '../../core/call/calls.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Connection, ServerInfo } from '../../core/ports.ts';
import type { Question } from '../../core/question/question.ts';
import type { Session } from '../../core/session/session.ts';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { secretId } from '../../lib/ids.ts';
import { messageOf } from '../../lib/log.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import { MAX_DELAY_MS } from '../../lib/timers.ts';
import { isObject } from '../../lib/values.ts';
import { openExchange, type Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import { whileWaiting } from '../waiting.ts';
import { canBeAsked } from '../asking/asking.ts';
import type { ModernBench } from './modern-bench.ts';
import { calling, clientOf, requireTasks, type ModernClient } from './modern-client.ts';
import { requestFace } from './face.ts';
import { passedOnMeta, wantsAgain } from './meta.ts';
import { errorOf, resultOf, wireError } from './outcome.ts';
import { HeldRequest } from './held-requests.ts';
import { readState, signState, type Waiting } from '../asking/request-state.ts';
import { ShownServer } from './shown-server.ts';
import { extensionTask, inputRequests } from './task-views.ts';

type Params = Record<string, unknown>;
type McpRequest = ServerContext['mcpReq'];

/** What a server pushes one by one, but at once, is to reach the client in one round. */
const GATHER_MS = 25;

/** Of the older protocol: a client without sessions must not find them here. */
const GONE_METHODS = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

export interface ModernFaceParts {
  gateway: Gateway;
  session: Session;
  name: string;
  info: ServerInfo;
  carrier: Carrier;
  /** What the requests of one client share. */
  bench: ModernBench;
  /** After how long a call is offered as a task to a client that takes tasks. */
  taskAfterMs: number;
}

/** A protocol object that shows one server to a client without sessions, for one of its requests. */
export function createModernServer(parts: ModernFaceParts): Server {
  const server = new ShownServer(requestFace(parts.name, parts.info));
  server.removeRequestHandler('logging/setLevel');
  const handle =
    (work: (request: ModernRequest, params: Params) => Promise<Params>) =>
    async (params: Params, { mcpReq }: ServerContext): Promise<Params> => {
      const exchange = openExchange(mcpReq, parts.carrier);
      parts.session.touch();
      try {
        const done = parts.session.beginRequest();
        try {
          return await work(new ModernRequest(parts, mcpReq, exchange), params);
        } finally {
          done();
        }
      } catch (error) {
        throw wireError(parts.name, error);
      }
    };
  // Only with a schema of their own does the SDK let these through.
  const params = z.looseObject({ taskId: z.string() });
  server.setRequestHandler(
    'tasks/get',
    { params },
    handle(async (request, given) => request.getTask(given)),
  );
  server.setRequestHandler(
    'tasks/cancel',
    { params },
    handle(async (request, given) => request.cancelTask(given)),
  );
  server.setRequestHandler(
    'tasks/update',
    { params },
    handle(async (request, given) => request.updateTask(given)),
  );
  server.fallbackNotificationHandler = async ({ method, params: told }) => {
    parts.session.connection(parts.name).notify(method, told);
  };
  server.fallbackRequestHandler = async ({ method, params: given = {} }, context) => {
    if (GONE_METHODS.has(method)) throw new RpcError(-32601, `Method not found: ${method}`);
    const work = async (request: ModernRequest, own: Params): Promise<Params> =>
      method === 'tools/call' ? request.call(own) : request.relay(method, own);
    return handle(work)(given, context);
  };
  return server;
}

/** One request of such a client. */
class ModernRequest {
  readonly #gateway: Gateway;
  readonly #session: Session;
  readonly #name: string;
  readonly #info: ServerInfo;
  readonly #bench: ModernBench;
  readonly #taskAfterMs: number;
  readonly #mcpReq: McpRequest;
  readonly #exchange: Exchange;
  readonly #client: ModernClient;
  /** What this is known by on the connection to the server. */
  readonly #id = secretId();

  constructor(
    { gateway, session, name, info, bench, taskAfterMs }: ModernFaceParts,
    mcpReq: McpRequest,
    exchange: Exchange,
  ) {
    this.#gateway = gateway;
    this.#session = session;
    this.#name = name;
    this.#info = info;
    this.#bench = bench;
    this.#taskAfterMs = taskAfterMs;
    this.#mcpReq = mcpReq;
    this.#exchange = exchange;
    this.#client = clientOf(mcpReq);
    bench.capabilities = this.#client.capabilities;
  }

  get #connection(): Connection {
    return this.#session.connection(this.#name);
  }

  // --- Calls ---

  async call(params: Params): Promise<Params> {
    const { name: tool, arguments: sent, _meta: _ownMeta, ...more } = params;
    const args = sent ?? {};
    if (typeof tool !== 'string' || !isObject(args)) return this.relay('tools/call', params);
    const state = this.#mcpReq.requestState();
    if (state !== undefined) return this.#nextRound(state, tool);
    const request: CallRequest = { server: this.#name, tool, args, timeoutMs: MAX_DELAY_MS };
    const orphan = wantsAgain(params) ? undefined : this.#session.tasks.takeOrphan(request);
    if (orphan) return this.#follow(orphan.id);
    const reply = await this.#listening(this.#id, async () =>
      this.#execute({
        ...request,
        id: this.#id,
        meta: this.#meta('tools/call', params),
        more,
        bare: sent === undefined,
        // A client that waits for the call itself is not to lose it to a clock that it knows nothing of.
        ...(this.#client.takesTasks
          ? { timeoutMs: this.#taskAfterMs, promised: true }
          : { ttlMs: this.#gateway.settings.tasks.maxTtlMs }),
      }),
    );
    switch (reply.kind) {
      case 'result':
        this.#exchange.whenSettled((delivered) => {
          if (!delivered && !this.#exchange.cancelled) this.#session.calls.keepResult(request, reply.result);
        });
        return reply.result;
      case 'task':
        if (reply.because === 'gone') throw new RpcError(-32000, 'the client left');
        return reply.because === 'question' ? this.#askRound(reply.task.id) : this.#asTask(reply.task.id);
      case 'failed':
        return this.#instead(errorOf(reply));
      case 'cancelled':
        throw new RpcError(-32000, 'the call was cancelled');
    }
  }

  async #execute(request: CallRequest): Promise<CallReply> {
    const { inputResponses = {} } = this.#mcpReq;
    const { capabilities, takesTasks } = this.#client;
    const answered = ({ key }: Question): boolean => key !== undefined && Object.hasOwn(inputResponses, key);
    return whileWaiting(this.#exchange, `${request.tool} is at work`, async (onProgress) => {
      const caller: Caller = {
        onLeaving: (listener) => this.#exchange.onLeaving(listener),
        onProgress,
        // What the client cannot be asked others may answer, while it waits.
        holdsFor: (question) => answered(question) || !canBeAsked(capabilities, question),
        desk: (question) =>
          this.#answerAtOnce(question, answered(question) ? inputResponses[question.key ?? ''] : undefined),
        takesTask: takesTasks,
        tellsRoots: isObject(capabilities['roots']),
      };
      return this.#session.calls.execute(this.#connection, request, caller);
    });
  }

  /** With what the client sent along before it was asked. */
  #answerAtOnce(question: Question, answer: unknown): boolean {
    if (answer === undefined) return false;
    this.#session.controller.answer(question, answer).catch((error: unknown) => {
      this.#session.questions.refuse(question.id, { code: -32602, message: messageOf(error) });
    });
    return true;
  }

  /** The client brings the answers to what the call asked, and wants to go on with it. */
  async #nextRound(state: unknown, tool: string): Promise<Params> {
    const waiting = readState(this.#session.key, state);
    const taskId = 'task' in waiting ? waiting.task : '';
    const task = this.#session.controller.get(taskId);
    if (task?.tool !== tool) throw new RpcError(-32602, 'requestState names a call that is over: begin it anew');
    await this.#bench.asked.answer({ taskId }, this.#client.capabilities, this.#mcpReq.inputResponses ?? {});
    return this.#follow(taskId);
  }

  /** Waits for what comes next of a call that is a task already: its end, a question, or its turn to be shown as a task. */
  async #follow(taskId: string): Promise<Params> {
    const { takesTasks, capabilities } = this.#client;
    const asks = (): boolean => this.#bench.asked.of({ taskId }, capabilities).size > 0;
    const wanted = (task: Task): boolean => hasEnded(task) || (takesTasks && task.kept === true) || asks();
    const timeoutMs = takesTasks ? this.#taskAfterMs : MAX_DELAY_MS;
    const signal = this.#exchange.leavingSignal();
    const task = await this.#attending(taskId, async () =>
      this.#session.controller.until(taskId, wanted, { timeoutMs, signal }),
    );
    if (!hasEnded(task)) {
      if (!this.#exchange.open) {
        this.#handingOver(taskId);
        throw new RpcError(-32000, 'the client left');
      }
      if (asks()) return this.#askRound(taskId);
      if (takesTasks) return this.#asTask(taskId);
      // Nobody waits in a session that ends.
      if (this.#session.ended) throw new GatewayError('TOOL_ERR_SHUTTING_DOWN', 'the session has ended; try again');
      // What it was about to ask has been answered by somebody else.
      return this.#follow(taskId);
    }
    this.#handingOver(taskId, { forget: task.promised !== true });
    await this.#gateway.store.settled();
    return resultOf(task);
  }

  /** A client that does not get what the call has come to makes the same call again, and means this one. */
  #handingOver(taskId: string, { forget = false } = {}): void {
    this.#exchange.whenSettled((delivered) => {
      if (delivered && forget) this.#session.tasks.delivered(taskId);
      else if (!this.#exchange.cancelled) this.#session.tasks.setOrphan(taskId, !delivered);
    });
  }

  /** While the client waits for the task, it hears what that tells, and can cancel it. */
  async #attending<T>(taskId: string, work: () => Promise<T>): Promise<T> {
    const stopListening = this.#exchange.onLeaving((leaving) => {
      if (leaving === 'cancelled') this.#session.calls.cancel(taskId, 'cancelled by the client');
    });
    return this.#listening(this.#session.calls.idOf(taskId), async () =>
      whileWaiting(this.#exchange, 'the call is at work', async (onProgress) => {
        const deaf = this.#session.calls.onProgress(taskId, onProgress);
        return work().finally(deaf);
      }),
    ).finally(stopListening);
  }

  /** Answers with what the call asks; the client makes the same call again with the answers. */
  async #askRound(taskId: string): Promise<Params> {
    await delay(GATHER_MS);
    const asked = this.#bench.asked.shown({ taskId }, this.#client.capabilities);
    if (asked.size === 0) return this.#follow(taskId);
    this.#handingOver(taskId);
    await this.#gateway.store.settled();
    return this.#round(asked, { task: taskId });
  }

  #round(asked: Map<string, Question>, waiting: Waiting): Params {
    const requestState = signState(this.#session.key, waiting);
    return { resultType: 'input_required', inputRequests: inputRequests(asked), requestState };
  }

  async #asTask(taskId: string): Promise<Params> {
    this.#session.tasks.apply(taskId, { type: 'promised' });
    this.#handingOver(taskId);
    await this.#gateway.store.settled();
    return { resultType: 'task', ...extensionTask(this.#shown(this.#session.tasks.get(taskId))) };
  }

  // --- Tasks ---

  async getTask(params: Params): Promise<Params> {
    const task = this.#task(params);
    await this.#gateway.store.settled();
    return this.#bench.detailed(task, this.#client.capabilities);
  }

  async cancelTask(params: Params): Promise<Params> {
    const { id } = this.#task(params);
    // Acknowledged also when it has ended already: then there is nothing to do.
    await this.#session.controller.cancel(id, 'cancelled by the client');
    return {};
  }

  async updateTask(params: Params): Promise<Params> {
    const { id } = this.#task(params);
    await this.#bench.asked.answer({ taskId: id }, this.#client.capabilities, this.#mcpReq.inputResponses ?? {});
    return {};
  }

  #task({ taskId }: Params): Task {
    requireTasks(this.#client);
    const task = typeof taskId === 'string' ? this.#session.controller.get(taskId) : undefined;
    if (task === undefined) throw new RpcError(-32602, `no task '${String(taskId)}'`);
    return task;
  }

  #shown(task: Task): Task {
    return this.#bench.shown(task, this.#client.capabilities);
  }

  // --- Everything else ---

  async relay(method: string, params: Params): Promise<Params> {
    const { _meta: _ownMeta, ...own } = params;
    const { inputResponses } = this.#mcpReq;
    const requestState = this.#mcpReq.requestState();
    // Rounds with a server of the same era are its own affair.
    const rounds = this.#info.era === 'modern' ? { inputResponses, requestState } : {};
    if (requestState !== undefined && this.#info.era !== 'modern') return this.#nextOfHeld(requestState);
    const meta = { ...this.#meta(method, params), ...(this.#exchange.progress && { progressToken: this.#id }) };
    const outgoing = { ...own, ...rounds, _meta: meta };
    const onProgress = this.#exchange.progress ?? ((): void => {});
    const start = async (signal: AbortSignal): Promise<Params> =>
      this.#connection.relay({ id: this.#id, method, params: outgoing, signal, onProgress });
    const held = new HeldRequest(this.#session, this.#id, this.#client.capabilities, start);
    return this.#waitFor(held).catch((error: unknown) => this.#instead(wireError(this.#name, error)));
  }

  async #nextOfHeld(state: unknown): Promise<Params> {
    const waiting = readState(this.#session.key, state);
    const held = this.#bench.held.get('request' in waiting ? waiting.request : '');
    const { inputResponses = {} } = this.#mcpReq;
    await this.#bench.asked.answer({ callId: held.id }, this.#client.capabilities, inputResponses);
    // What was not answered is asked again: nothing new would tell of it.
    const left = this.#bench.asked.shown({ callId: held.id }, this.#client.capabilities);
    return left.size > 0 ? this.#round(left, { request: held.id }) : this.#waitFor(held);
  }

  async #waitFor(held: HeldRequest): Promise<Params> {
    const stopListening = this.#exchange.onLeaving(() => held.stop());
    const next = await this.#listening(held.id, async () => held.next()).finally(stopListening);
    if (next !== 'asked') return next.result;
    await delay(GATHER_MS);
    const asked = this.#bench.asked.shown({ callId: held.id }, this.#client.capabilities);
    if (asked.size === 0) return this.#waitFor(held);
    this.#bench.held.keep(held);
    return this.#round(asked, { request: held.id });
  }

  /** What this era has in place of an error that wants the client to visit an address first: a round. */
  #instead(error: Error): Params {
    const asked = elicitationsIn(error).filter((params) =>
      canBeAsked(this.#client.capabilities, { kind: 'elicitation', params }),
    );
    if (asked.length === 0 || this.#info.era === 'modern') throw error;
    const requests = asked.map((params) => [
      String(params['elicitationId'] ?? params['url']),
      { method: 'elicitation/create', params },
    ]);
    return { resultType: 'input_required', inputRequests: Object.fromEntries(requests) as Params };
  }

  /** Servers of the client's own era hear from each request what its client can do. */
  #meta(method: string, params: Params): Params {
    const meta = passedOnMeta(params);
    if (this.#info.era !== 'modern') return meta;
    return {
      ...meta,
      [CLIENT_CAPABILITIES_META_KEY]: method === 'tools/call' ? calling(this.#client) : this.#client.capabilities,
      [LOG_LEVEL_META_KEY]: this.#client.logLevel,
    };
  }

  /** Hands on what the server says in the course of this request. */
  async #listening<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    const { logLevel } = this.#client;
    if (logLevel !== undefined) await this.#bench.useLevel(logLevel, this.#info);
    const leave = this.#bench.enter(id ?? this.#id, logLevel, (method, params) => {
      this.#mcpReq.notify({ method, ...(params && { params }) }).catch((error: unknown) => {
        this.#gateway.log.debug('notification_not_sent', { method, error: String(error) });
      });
    });
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

const URL_ELICITATION_REQUIRED = -32042;

/** The addresses that an error of the older protocol wants visited. */
function elicitationsIn(error: Error): Params[] {
  const { code, data } = error as Error & { code?: unknown; data?: unknown };
  const listed = code === URL_ELICITATION_REQUIRED && isObject(data) ? data['elicitations'] : undefined;
  return Array.isArray(listed) ? listed.filter(isObject).map((each) => ({ ...each, mode: 'url' })) : [];
}

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Asker, IncomingQuestion, ServerTask } from '../core/ports/connection.ts';
import type { Answer, InteractionKind } from '../core/interaction/interaction.ts';
import {
  createTask,
  hasEnded,
  transition,
  type Task,
  type TaskError,
  type TaskEvent,
  errorOfTask,
} from '../core/task/task.ts';
import { protocolTask } from '../core/task/protocol-task.ts';
import { nearestNumber } from '../lib/exact-json.ts';
import { messageOf } from '../lib/log.ts';
import type { Clock } from '../lib/clock.ts';
import { LazyMap } from '../lib/lazy-collections.ts';
import { Alarm } from '../lib/timers.ts';
import { isObject } from '../lib/values.ts';
import { withRelatedTask } from '../lib/meta.ts';
import { hasRpcCode, INVALID_PARAMS, NOT_ANSWERED, RpcError, rpcFailure } from '../lib/rpc-error.ts';
import { kindOf } from '../core/interaction/methods.ts';

type Params = Record<string, unknown>;

export interface ReceiverHooks {
  /** Asks the client; calls `onOpen` once the question is open. Rejects with the reason if there is no answer. */
  ask: (
    method: string,
    params: Params,
    about: Asker & Pick<IncomingQuestion, 'withdrawn'> & { timeoutMs: number },
    onOpen: () => void,
  ) => Promise<Answer>;
  /** Whether the capability to ask this with a task was declared to the server. */
  accepts: (kind: InteractionKind) => boolean;
  /** Sends `notifications/tasks/status`. */
  notify: (task: ServerTask) => void;
  clock: Clock;
}

/** The capability of a client that has a receiver. */
export const RECEIVER_CAPABILITY = {
  list: {},
  cancel: {},
  requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
};

const DEFAULT_TTL_MS = 10 * 60_000;
const MAX_TTL_MS = 24 * 3_600_000;
const POLL_MS = 1000;
const MAX_TASKS = 100;
const PAGE_SIZE = 50;

/** The fields of a task that describe its call: these tasks belong to a question instead. */
const NO_CALL = { sessionId: '', server: '', args: {} };

interface Held {
  task: Task;
  /** Its position among all tasks of this connection, past ones included. */
  place: number;
  /** Aborted when the task has ended: withdraws the question, and wakes requests that wait for the result. */
  over: AbortController;
}

/**
 * The tasks that we keep for one server: questions that it asked with a `task`, so that it can fetch the answer later. A task
 * is working until its question is open, then input_required. Unlike in tasks of our clients, the clock keeps running while the
 * question waits: the server has set the TTL, after which the task is removed.
 */
export class TaskReceiver {
  readonly #held = new LazyMap<string, Held>();
  readonly #alarm: Alarm;
  readonly #hooks: ReceiverHooks;
  #places = 0;

  constructor(hooks: ReceiverHooks) {
    this.#hooks = hooks;
    this.#alarm = new Alarm(() => this.#expireDue(), hooks.clock);
  }

  /** Answers a request that creates a task or is about one; `undefined` for any other. */
  answer(method: string, params: Params, asker: Asker, signal: AbortSignal): Promise<Params> | undefined {
    switch (method) {
      case 'tasks/get':
        return this.#get(params);
      case 'tasks/result':
        return this.#result(params, signal);
      case 'tasks/list':
        return this.#list(params);
      case 'tasks/cancel':
        return this.#cancel(params);
      default:
        return this.#isAskedAsTask(method, params) ? this.#create(method, params, asker) : undefined;
    }
  }

  /** The server is lost: all tasks end and are removed. */
  clear(reason: string): void {
    const all = [...this.#held.values()];
    this.#held.clear();
    this.#alarm.stop();
    for (const held of all) this.#move(held, { type: 'fail', error: { code: NOT_ANSWERED, message: reason } });
  }

  async #create(method: string, { task: asked, ...params }: Params, asker: Asker): Promise<Params> {
    const ttlMs = ttlOf(asked);
    this.#makeRoom();
    this.#places += 1;
    const held: Held = {
      task: createTask({ ...NO_CALL, id: randomUUID(), tool: method, ttlMs }, this.#hooks.clock.now()),
      place: this.#places,
      over: new AbortController(),
    };
    this.#held.set(held.task.id, held);
    this.#alarm.at(expiryOf(held.task));
    // The server learns the id before it gets notifications about the task.
    setImmediate(() => void this.#work(held, params, asker));
    return { task: shown(held.task) };
  }

  async #work(held: Held, params: Params, asker: Asker): Promise<void> {
    if (hasEnded(held.task)) return;
    const timeoutMs = Math.max(0, expiryOf(held.task) - this.#hooks.clock.now());
    const about = { ...asker, withdrawn: held.over.signal, timeoutMs };
    const onOpen = (): void => void this.#apply(held, { type: 'blocked', by: 'certain' });
    try {
      const result = await this.#hooks.ask(held.task.tool, params, about, onOpen);
      this.#apply(held, { type: 'complete', result });
    } catch (error) {
      // A question may time out a moment before its task expires, which is the same end.
      const late = expiryOf(held.task) <= this.#hooks.clock.now();
      this.#apply(held, late ? { type: 'expire' } : { type: 'fail', error: errorOf(error) });
    }
  }

  async #get(params: Params): Promise<Params> {
    return { ...shown(this.#find(params).task) };
  }

  async #result(params: Params, signal: AbortSignal): Promise<Params> {
    const held = this.#find(params);
    if (!hasEnded(held.task)) await once(held.over.signal, 'abort', { signal });
    const { task } = held;
    if (task.status !== 'completed') throw failureOf(task);
    return withRelatedTask(task.result, task.id);
  }

  async #cancel(params: Params): Promise<Params> {
    const held = this.#find(params);
    if (!this.#apply(held, { type: 'cancel', reason: 'cancelled by the server' })) {
      throw invalid(`the task cannot be cancelled: it is already ${shown(held.task).status}`);
    }
    return { ...shown(held.task) };
  }

  async #list({ cursor }: Params): Promise<Params> {
    const after = cursor === undefined ? 0 : this.#placeOf(cursor);
    const rest = [...this.#held.values()].filter(({ place }) => place > after);
    const page = rest.slice(0, PAGE_SIZE);
    const last = page.at(-1);
    return {
      tasks: page.map(({ task }) => shown(task)),
      ...(last && rest.length > page.length && { nextCursor: cursorAfter(last.place) }),
    };
  }

  /** A cursor stays valid after the removal of its task. */
  #placeOf(cursor: unknown): number {
    const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : '';
    const place = Number(/^after:([1-9]\d*)$/.exec(text)?.[1]);
    if (Number.isNaN(place) || place > this.#places) throw invalid('the cursor does not come from tasks/list');
    return place;
  }

  #find({ taskId }: Params): Held {
    if (typeof taskId !== 'string') throw invalid('taskId must be a string');
    const held = this.#held.get(taskId);
    if (held === undefined) throw invalid('task not found: unknown or expired');
    return held;
  }

  #makeRoom(): void {
    if (this.#held.size < MAX_TASKS) return;
    const oldest = [...this.#held.values()].find(({ task }) => hasEnded(task));
    if (oldest === undefined) {
      throw new RpcError(NOT_ANSWERED, `${MAX_TASKS} tasks wait for answers, which is the limit; cancel some`);
    }
    this.#held.delete(oldest.task.id);
  }

  #expireDue(): void {
    const now = this.#hooks.clock.now();
    for (const held of this.#held.values()) {
      const moment = expiryOf(held.task);
      if (moment > now) {
        this.#alarm.at(moment);
        continue;
      }
      this.#held.delete(held.task.id);
      this.#apply(held, { type: 'expire' });
    }
  }

  /** Otherwise the request is answered normally, as the protocol requires. */
  #isAskedAsTask(method: string, params: Params): boolean {
    const kind = kindOf(method);
    return kind !== undefined && 'task' in params && this.#hooks.accepts(kind);
  }

  /** Changes the task and notifies the server; false if the change is not allowed. */
  #apply(held: Held, event: TaskEvent): boolean {
    const moved = this.#move(held, event);
    if (moved) this.#hooks.notify(shown(held.task));
    return moved;
  }

  #move(held: Held, event: TaskEvent): boolean {
    const now = this.#hooks.clock.now();
    const next = transition(held.task, event, { now, keepMs: Math.max(0, expiryOf(held.task) - now) });
    if (next === undefined) return false;
    held.task = next;
    if (hasEnded(next)) held.over.abort(failureOf(next));
    return true;
  }
}

function expiryOf({ createdAt, ttlMs }: Task): number {
  return createdAt + ttlMs;
}

function ttlOf(asked: unknown): number {
  if (!isObject(asked)) throw invalid('task must be an object');
  const ttl = asked['ttl'] === undefined ? DEFAULT_TTL_MS : nearestNumber(asked['ttl']);
  if (ttl === undefined || !Number.isInteger(ttl) || ttl < 0) {
    throw invalid('task.ttl must be a whole number of milliseconds, 0 or more');
  }
  return Math.min(ttl, MAX_TTL_MS);
}

function cursorAfter(place: number): string {
  return Buffer.from(`after:${place}`).toString('base64url');
}

function shown(task: Task): ServerTask {
  const isFailure = hasEnded(task) && task.status !== 'completed';
  return {
    ...protocolTask(task),
    ...(isFailure && { statusMessage: failureOf(task).message }),
    pollInterval: POLL_MS,
  };
}

/** The error instead of a result. */
function failureOf(task: Task): RpcError {
  const { status, statusMessage, ttlMs } = task;
  const error = errorOfTask(task);
  if (status === 'expired') return invalid(`the task has expired: its ttl of ${ttlMs} ms ran out`);
  if (error !== undefined) return RpcError.passedOn(error);
  return new RpcError(NOT_ANSWERED, `the task was ${statusMessage ?? status}`);
}

function errorOf(error: unknown): TaskError {
  return hasRpcCode(error) ? rpcFailure(error) : { code: NOT_ANSWERED, message: messageOf(error) };
}

function invalid(message: string): RpcError {
  return new RpcError(INVALID_PARAMS, message);
}

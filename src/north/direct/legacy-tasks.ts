import type { Progress } from '../../core/ports/connection.ts';
import { hasEnded, type Task } from '../../core/task/task.ts';
import { MAX_DELAY_MS } from '../../lib/clock.ts';
import { nearestNumber } from '../../lib/exact-json.ts';
import { withRelatedTask } from '../../lib/meta.ts';
import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { isObject, quotable } from '../../lib/values.ts';
import type { LegacyResponder } from './legacy-responder.ts';
import type { Params, RequestId } from '../message.ts';
import { tellClient, type LegacyViewParts, type LegacyRequest } from './legacy-request.ts';
import type { LegacyTools } from './legacy-tools.ts';
import { resultOf } from './outcome.ts';
import { coreTask } from './task-views.ts';
import { notifyWhenStored, report, ReportedError, type Reply } from '../commit-gate.ts';
import { deliverTask, deliverTaskEnd } from '../delivery.ts';

const TASK_PAGE = 100;

/** The last task of a page: its creation time, in case the task is gone when the next page is requested, and its id. */
const CURSOR = /^(\d+)-(\w+)$/;

function cursorAt({ createdAt, id }: Task): string {
  return `${createdAt}-${id}`;
}

function placeAfter(cursor: unknown, tasks: Task[]): number {
  if (cursor === undefined) return 0;
  const [, createdAt, last] = (typeof cursor === 'string' && CURSOR.exec(cursor)) || [];
  if (last === undefined) throw new RpcError(INVALID_PARAMS, `Invalid cursor: ${JSON.stringify(cursor)}`);
  const at = tasks.findIndex(({ id }) => id === last);
  if (at >= 0) return at + 1;
  const younger = tasks.findIndex((task) => task.createdAt >= Number(createdAt));
  return younger < 0 ? tasks.length : younger;
}

/** The requested TTL of a task, from `params.task` of the call. */
export function ttlOf(task: unknown): { ttlMs?: number } {
  if (!isObject(task)) throw new RpcError(INVALID_PARAMS, "'task' must be an object");
  if (task['ttl'] === undefined || task['ttl'] === null) return {};
  const ttl = nearestNumber(task['ttl']);
  if (ttl === undefined || !Number.isFinite(ttl) || ttl < 0) {
    throw new RpcError(INVALID_PARAMS, "'task.ttl' must be a number of milliseconds");
  }
  return { ttlMs: Math.max(1, Math.floor(ttl)) };
}

/** The tasks of one client in the 2025-11-25 protocol. */
export class LegacyTasks {
  readonly #parts: LegacyViewParts;
  readonly #responder: LegacyResponder;
  readonly #tools: LegacyTools;
  /** The client's request that waits for the result of each task. */
  readonly #waiting = new Map<string, RequestId>();

  constructor(parts: LegacyViewParts, responder: LegacyResponder, tools: LegacyTools) {
    this.#parts = parts;
    this.#responder = responder;
    this.#tools = tools;
  }

  get(params: Params): Reply {
    return report(this.#parts.session, coreTask(this.#find(params)));
  }

  async result(request: LegacyRequest, params: Params): Promise<Reply> {
    const { id } = this.#find(params);
    const task = await this.ended(request, id, (progress) => withRelatedTask(progress, id));
    const { session } = this.#parts;
    deliverTaskEnd({ session, exchange: request.exchange }, id);
    return report(session, withRelatedTask(this.#tools.asListed(task, resultOf(task)), id));
  }

  list({ cursor }: Params): Reply {
    const { session } = this.#parts;
    const all = session.tasks.list().filter(({ server, tool }) => session.mayCall(server, tool));
    const from = placeAfter(cursor, all);
    const page = all.slice(from, from + TASK_PAGE);
    const last = page.at(-1);
    const more = last !== undefined && from + TASK_PAGE < all.length;
    return report(session, { tasks: page.map(coreTask), ...(more && { nextCursor: cursorAt(last) }) });
  }

  cancel(params: Params): Reply {
    const task = this.#find(params);
    const { session } = this.#parts;
    const cancelled = session.calls.cancel(task.id, 'cancelled by the client');
    if (cancelled !== undefined) return report(session, coreTask(cancelled));
    throw new ReportedError(
      INVALID_PARAMS,
      `Cannot cancel task: already in terminal status '${String(coreTask(task)['status'])}'`,
    );
  }

  /** Gives the client a task for its call. */
  created(request: LegacyRequest, task: Task): Reply {
    const { session } = this.#parts;
    const { exchange } = request;
    const { tasks } = session;
    tasks.apply(task.id, { type: 'exposed' });
    this.#tellProgress(request, task);
    deliverTask({ session, exchange }, task.id);
    return report(session, { task: coreTask(tasks.get(task.id)) });
  }

  /**
   * Waits for the end of a task; its questions go over the stream of the request that waits. `marked` adds the task to
   * reports of progress, for a client that knows the task.
   */
  async ended(request: LegacyRequest, taskId: string, marked?: (progress: Progress) => Progress): Promise<Task> {
    const { session } = this.#parts;
    const unregister = this.#responder.registerForTask(taskId, request);
    this.#waiting.set(taskId, request.id);
    try {
      const untilEnded = async (onProgress: (progress: Progress) => void): Promise<Task> => {
        const deaf = session.calls.onProgress(taskId, onProgress);
        // Also when the stream has broken: the client may resume it.
        return session.tasks.until(taskId, hasEnded, MAX_DELAY_MS, request.exchange.withdrawnSignal()).finally(deaf);
      };
      return await request.waiting('the task is running', untilEnded, marked);
    } finally {
      if (this.#waiting.get(taskId) === request.id) this.#waiting.delete(taskId);
      unregister();
    }
  }

  /** Notifies the client of changes of a task that it knows. */
  changed(task: Task): void {
    if (!task.exposed || !this.#parts.session.mayCall(task.server, task.tool)) return;
    notifyWhenStored(this.#parts.session, () => tellClient(this.#parts, 'notifications/tasks/status', coreTask(task)));
  }

  /** The progress token of the call stays valid until its task has ended. */
  #tellProgress({ progressToken }: LegacyRequest, told: Task): void {
    const { session } = this.#parts;
    const { id } = told;
    if (progressToken === undefined || hasEnded(told)) return;
    const deaf = session.calls.onProgress(id, (progress) => {
      const params = withRelatedTask({ ...progress, progressToken }, id);
      tellClient(this.#parts, 'notifications/progress', params, this.#waiting.get(id));
    });
    const forget = session.tasks.watch((task) => {
      if (task.id !== id || !hasEnded(task)) return;
      deaf();
      forget();
    });
  }

  #find({ taskId }: Params): Task {
    const task = typeof taskId === 'string' ? this.#parts.session.findTask(taskId) : undefined;
    if (task === undefined)
      throw new ReportedError(INVALID_PARAMS, `Failed to retrieve task: task '${quotable(taskId)}' not found`);
    return task;
  }
}

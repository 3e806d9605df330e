import type { Log } from '../../lib/log.ts';
import { isDeepStrictEqual } from 'node:util';
import { secretId } from '../../lib/ids.ts';
import { roughSize } from '../../lib/rough-size.ts';
import type { Clock } from '../../lib/clock.ts';
import { LazyMap, LazySet } from '../../lib/lazy-collections.ts';
import { Alarm } from '../../lib/timers.ts';
import { UNLIMITED, type Budget } from '../budget.ts';
import { GatewayError } from '../errors.ts';
import type { EventSink } from '../event/log.ts';
import type { Observed } from '../observer.ts';
import type { SessionStore } from '../ports/store.ts';
import type { CoreSettings } from '../settings.ts';
import type { Quota } from '../shared-limit.ts';
import { PROTOCOL_ADVICE, type TaskAdvice } from './advice.ts';
import {
  createTask,
  errorOfTask,
  hasEnded,
  hasSucceeded,
  isBlocked,
  transition,
  type CallDescription,
  type EndedTask,
  type Task,
  type TaskEvent,
  type WorkingTask,
} from './task.ts';

export interface TaskStart
  extends CallDescription, Partial<Pick<WorkingTask, 'ttlMs' | 'exposed' | 'abandoned' | 'unsent'>> {}

/** A repeated call, which may take over its earlier run. */
export interface RepeatedCall extends Required<Pick<TaskStart, 'server' | 'tool' | 'args' | 'program'>> {
  /** How long ago the earlier run may have ended. */
  endedWithinMs: number;
}

export interface TaskBookParts {
  sessionId: string;
  store: SessionStore;
  events: EventSink;
  settings: CoreSettings['tasks'];
  /** The quota of unfinished tasks across all sessions. */
  quota: Quota;
  log: Log;
  /** What the client can do about a limit. */
  advice?: TaskAdvice;
  budget?: Budget;
  observed?: Observed;
  clock: Clock;
}

/** Called with every change of a task and its event. */
export type TaskWatcher = (task: Task, event?: TaskEvent) => void;

/** State up to this size is always kept, so that a call can continue after a restart. */
const SMALL_BYTES = 64 * 1024;

/** The limit on unread results, as a multiple of `tasks.perSession`. */
const MAX_UNREAD_FACTOR = 10;

/** The tasks of one session: every change goes through `apply`, which keeps store, events and waiters in step. */
export class TaskBook {
  readonly #tasks = new LazyMap<string, Task>();
  /** Ended tasks whose end the client has seen. */
  readonly #read = new LazySet<string>();
  readonly #watchers = new Set<TaskWatcher>();
  /** Waiters for a change, released when the session ends. */
  readonly #waiting = new LazySet<() => void>();
  #closed = false;
  readonly #alarm: Alarm;
  readonly #parts: Required<TaskBookParts>;
  /** The bytes of each task in the budget. */
  readonly #bytes = new LazyMap<string, number>();

  constructor(parts: TaskBookParts) {
    this.#parts = { advice: PROTOCOL_ADVICE, budget: UNLIMITED, observed: {}, ...parts };
    this.#alarm = new Alarm(() => this.#expireDue(), this.#parts.clock);
  }

  /**
   * Refuses a call that may become a task while too many tasks are running. A call that has started can always become a task:
   * its work must not be lost, and calls in flight have their own limit.
   */
  assertRoom(): void {
    this.#parts.quota.assertRoom();
    const { perSession } = this.#parts.settings;
    if (this.#tasks.size < perSession) return;
    const working = this.atWork().length;
    if (working < perSession) return;
    throw new GatewayError(
      'TOOL_ERR_LIMIT',
      `${working} tasks of this session are still running (limit tasks.perSession = ${perSession}); ${this.#parts.advice.full}`,
    );
  }

  create(start: TaskStart): Task {
    this.#evictOldestEnded();
    const ttlMs = Math.min(start.ttlMs ?? this.#parts.settings.ttlMs, this.#parts.settings.maxTtlMs);
    const { server } = start;
    const task = createTask(
      { ...start, id: secretId(), sessionId: this.#parts.sessionId, ttlMs },
      this.#parts.clock.now(),
    );
    this.#keep(task);
    this.#parts.events.add('task_created', server, { taskId: task.id, toolName: task.tool, ttl: ttlMs });
    return task;
  }

  /** Restores tasks after a restart. */
  restore(tasks: Task[]): void {
    for (const task of tasks) {
      this.#set(task);
      this.#alarm.at(deadlineOf(task));
    }
  }

  /** The changed task; `undefined` if there is no such task or the transition is not allowed. */
  apply(id: string, event: TaskEvent): Task | undefined {
    const task = this.#tasks.get(id);
    const moment = { now: this.#parts.clock.now(), keepMs: this.#parts.settings.keepMs };
    const next = task && transition(task, event, moment);
    if (task === undefined || next === undefined) return undefined;
    // Only these can be large; a task can always end.
    if (event.type === 'complete' || event.type === 'checkpoint') {
      const more = sizeOf(next) - (this.#bytes.get(id) ?? 0);
      const isSmall = event.type === 'checkpoint' && more <= SMALL_BYTES;
      if (more > 0 && !isSmall && more > this.#parts.budget.left) return this.#noRoom(task, more);
    }
    // Progress is shown but not stored: a chatty server must not cost a write for each step.
    if (event.type === 'progress') this.#tasks.set(id, next);
    else this.#keep(next);
    if (hasEnded(next)) this.#announceEnd(next);
    for (const watcher of this.#watchers) watcher(next, event);
    return next;
  }

  /** The result or the checkpoint does not fit into memory: the task fails. */
  #noRoom(task: Task, bytes: number): Task | undefined {
    const message = `no memory left for ${bytes} bytes of this task (${this.#parts.budget.shortage(bytes)})`;
    return this.apply(task.id, { type: 'no_room', message });
  }

  /** Reports every change until the returned function is called. */
  watch(watcher: TaskWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Makes the watchers of the task check it again, although only its surroundings have changed. */
  wake(id: string): void {
    const task = this.#tasks.get(id);
    if (task) for (const watcher of this.#watchers) watcher(task);
  }

  find(id: string): Task | undefined {
    return this.#tasks.get(id);
  }

  /**
   * The task of an identical earlier call that the same program abandoned. The first caller gets it.
   * Failed and cancelled runs are never taken over: repeating the call is a retry.
   */
  takeOver({ server, tool, args, program, endedWithinMs }: RepeatedCall): Task | undefined {
    if (this.#tasks.size === 0) return undefined;
    const endedAfter = this.#parts.clock.now() - endedWithinMs;
    const found = this.list().find(
      (task) =>
        task.abandoned &&
        task.program === program &&
        task.server === server &&
        task.tool === tool &&
        (!hasEnded(task) || (hasSucceeded(task) && task.updatedAt > endedAfter)) &&
        isDeepStrictEqual(task.args, args),
    );
    if (found) this.setAbandoned(found.id, false);
    return found;
  }

  /** Sets whether its client has lost it. This is not reported as a change of the task. */
  setAbandoned(id: string, abandoned: boolean): void {
    const task = this.#tasks.get(id);
    if (this.#closed || task === undefined || (task.abandoned === true) === abandoned) return;
    const { abandoned: _before, ...rest } = task;
    this.#keep(abandoned ? { ...rest, abandoned } : rest);
  }

  /** Its client has received the result. */
  delivered(id: string): void {
    const task = this.#tasks.get(id);
    if (task && hasEnded(task)) this.#forget(task);
  }

  get(id: string): Task {
    const task = this.#tasks.get(id);
    if (task) return task;
    throw taskNotFound(id);
  }

  list(): Task[] {
    return [...this.#tasks.values()];
  }

  atWork(server?: string): WorkingTask[] {
    return this.list().filter(
      (task): task is WorkingTask => !hasEnded(task) && (server === undefined || task.server === server),
    );
  }

  /** Waits until the task has ended or a question is open that may block it, the time is up, or the signal is aborted. */
  async whenEndedOrAsking(id: string, timeoutMs: number, signal: AbortSignal): Promise<Task> {
    return this.until(id, (task) => hasEnded(task) || isBlocked(task), timeoutMs, signal);
  }

  /** Waits until `wanted` holds, the timeout passes, or the signal is aborted. */
  async until(id: string, wanted: (task: Task) => boolean, timeoutMs: number, signal: AbortSignal): Promise<Task> {
    const now = this.get(id);
    if (wanted(now) || signal.aborted || this.#closed) return now;
    return new Promise((resolve) => {
      let latest = now;
      const finish = (): void => {
        cancel();
        signal.removeEventListener('abort', finish);
        stopWatching();
        this.#waiting.delete(finish);
        resolve(latest);
      };
      const cancel = this.#parts.clock.after(timeoutMs, finish);
      signal.addEventListener('abort', finish, { once: true });
      this.#waiting.add(finish);
      const stopWatching = this.watch((task) => {
        if (task.id !== id) return;
        latest = task;
        if (wanted(task)) finish();
      });
    });
  }

  /** Forgets expired tasks. */
  sweep(now: number): void {
    // Timers stop while the machine sleeps; deadlines do not.
    this.#expireDue();
    for (const task of this.#tasks.values()) {
      if (hasEnded(task) && task.keepUntil <= now) this.#forget(task);
    }
  }

  close(): void {
    this.#closed = true;
    this.#alarm.stop();
    for (const finish of this.#waiting) finish();
  }

  #set(task: Task): void {
    const before = this.#tasks.get(task.id);
    const worked = before !== undefined && !hasEnded(before);
    if (worked && hasEnded(task)) this.#parts.quota.release();
    if (!worked && !hasEnded(task)) this.#parts.quota.take();
    this.#tasks.set(task.id, task);
    this.#count(task);
  }

  #keep(task: Task): void {
    this.#set(task);
    this.#parts.store.put('task', task);
    this.#alarm.at(deadlineOf(task));
  }

  #count(task: Task): void {
    const bytes = sizeOf(task);
    this.#parts.budget.add(bytes - (this.#bytes.get(task.id) ?? 0));
    this.#bytes.set(task.id, bytes);
  }

  #forget(task: Task): void {
    this.#tasks.delete(task.id);
    this.#parts.budget.give(this.#bytes.get(task.id) ?? 0);
    this.#bytes.delete(task.id);
    this.#read.delete(task.id);
    this.#parts.store.drop('task', task.id);
  }

  /** The client has seen the end of the task and will not repeat the call to get the result. */
  markRead(id: string): void {
    if (!this.#tasks.has(id)) return;
    this.#read.add(id);
    this.setAbandoned(id, false);
  }

  /** Tasks whose end the client has seen go first; others only when there are far too many. */
  #evictOldestEnded(): void {
    const { perSession } = this.#parts.settings;
    if (this.#tasks.size < perSession) return;
    const ended = this.list().filter(hasEnded);
    const unread = this.#tasks.size < MAX_UNREAD_FACTOR * perSession ? undefined : ended[0];
    const oldest = ended.find(({ id, status }) => status === 'cancelled' || this.#read.has(id)) ?? unread;
    if (oldest) this.#forget(oldest);
  }

  #expireDue(): void {
    const now = this.#parts.clock.now();
    for (const task of this.atWork()) {
      if (task.deadline === undefined) continue;
      if (task.deadline > now) {
        this.#alarm.at(task.deadline);
        continue;
      }
      this.apply(task.id, { type: 'expire', advice: this.#parts.advice.late });
    }
  }

  #announceEnd(task: EndedTask): void {
    this.#parts.observed.observer?.taskEnded(task);
    const data = { taskId: task.id, toolName: task.tool };
    const about = { taskId: task.id, server: task.server, tool: task.tool };
    switch (task.status) {
      case 'completed':
        this.#parts.events.add('task_completed', task.server, data);
        this.#parts.log.info('task_completed', about);
        break;
      case 'failed':
        this.#parts.events.add('task_failed', task.server, { ...data, error: task.error.message });
        this.#parts.log.warn('task_failed', { ...about, error: task.error.message });
        break;
      case 'cancelled':
        this.#parts.events.add('task_cancelled', task.server, { ...data, reason: task.statusMessage });
        this.#parts.log.info('task_cancelled', about);
        break;
      case 'expired':
        this.#parts.events.add('task_expired', task.server, { ...data, ttl: task.ttlMs });
        this.#parts.log.warn('task_expired', about);
        break;
    }
  }
}

/** The size of the parts that may be large. */
function sizeOf(task: Task): number {
  if (!hasEnded(task)) return roughSize([task.args, task.checkpoint], Infinity);
  return roughSize([task.args, task.status === 'completed' ? task.result : errorOfTask(task)], Infinity);
}

function deadlineOf(task: Task): number | undefined {
  return hasEnded(task) ? undefined : task.deadline;
}

export function taskNotFound(id: string): GatewayError {
  const message = `task '${id}' not found: unknown or expired; list_tasks lists your tasks`;
  return new GatewayError('TOOL_ERR_TASK_NOT_FOUND', message);
}

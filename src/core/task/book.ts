import type { Log } from '../../lib/log.ts';
import { secretId } from '../../lib/ids.ts';
import { Alarm, clampDelay } from '../../lib/timers.ts';
import { GatewayError } from '../errors.ts';
import type { EventLog } from '../event/log.ts';
import type { Store } from '../ports.ts';
import type { CoreSettings } from '../settings.ts';
import { createTask, hasEnded, transition, type Task, type TaskEvent } from './task.ts';

export interface TaskStart {
  server: string;
  tool: string;
  args: Record<string, unknown>;
  ttlMs?: number;
}

/** The tasks of one session: every change goes through `apply`, which keeps store, events and waiters in step. */
export class TaskBook {
  readonly #tasks = new Map<string, Task>();
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #alarm = new Alarm(() => this.#expireDue());
  readonly #sessionId: string;
  readonly #store: Store;
  readonly #events: EventLog;
  readonly #settings: CoreSettings['tasks'];
  readonly #log: Log;
  /** Told when the TTL of a task has run out, so that its work can be stopped. */
  onExpired: (task: Task) => void = () => {};

  constructor(sessionId: string, store: Store, events: EventLog, settings: CoreSettings['tasks'], log: Log) {
    this.#sessionId = sessionId;
    this.#store = store;
    this.#events = events;
    this.#settings = settings;
    this.#log = log;
  }

  /** A call may only start when there will be room for the task it may become. */
  assertRoom(live: number): void {
    if (live < this.#settings.perSession) return;
    throw new GatewayError(
      'TOOL_ERR_LIMIT',
      `${live} calls of this session are still at work (limit tasks.perSession = ${this.#settings.perSession}); ` +
        'wait for one with await_activity or stop one with cancel_task',
    );
  }

  create(start: TaskStart): Task {
    this.#evictOldestEnded();
    const ttlMs = Math.min(start.ttlMs ?? this.#settings.ttlMs, this.#settings.maxTtlMs);
    const { server, tool, args } = start;
    const task = createTask({ id: secretId(), sessionId: this.#sessionId, server, tool, args, ttlMs }, Date.now());
    this.#keep(task);
    this.#events.add('task_created', server, { taskId: task.id, toolName: tool, ttl: ttlMs });
    return task;
  }

  /** Brings back what an earlier run of the program left. */
  restore(tasks: Task[]): void {
    for (const task of tasks) {
      this.#tasks.set(task.id, task);
      this.#alarm.at(task.deadline);
    }
  }

  /** The changed task, or `undefined` when there is none such or the move is not allowed. */
  apply(id: string, event: TaskEvent): Task | undefined {
    const task = this.#tasks.get(id);
    const next = task && transition(task, event, { now: Date.now(), keepMs: this.#settings.keepMs });
    if (next === undefined) return undefined;
    // Progress is shown but not stored: a chatty server must not cost a write for each step.
    if (event.type === 'progress') this.#tasks.set(id, next);
    else this.#keep(next);
    if (hasEnded(next)) this.#announceEnd(next);
    if (hasEnded(next) || next.status === 'input_required') this.#wake(id);
    return next;
  }

  get(id: string): Task {
    const task = this.#tasks.get(id);
    if (task) return task;
    throw new GatewayError(
      'TOOL_ERR_TASK_NOT_FOUND',
      `no task '${id}' in this session; list_tasks shows what there is`,
    );
  }

  list(): Task[] {
    return [...this.#tasks.values()];
  }

  atWork(server?: string): Task[] {
    return this.list().filter((task) => !hasEnded(task) && (server === undefined || task.server === server));
  }

  /** Waits until the task has ended or waits for an answer itself, the time is up, or nobody waits any more. */
  async whenEndedOrAsking(id: string, timeoutMs: number, signal: AbortSignal): Promise<Task> {
    const task = this.get(id);
    if (hasEnded(task) || task.status === 'input_required' || signal.aborted) return task;
    await new Promise<void>((resolve) => {
      const waiters = this.#waiters.get(id) ?? new Set();
      this.#waiters.set(id, waiters);
      const finish = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        waiters.delete(finish);
        if (waiters.size === 0) this.#waiters.delete(id);
        resolve();
      };
      const timer = setTimeout(finish, clampDelay(timeoutMs));
      signal.addEventListener('abort', finish, { once: true });
      waiters.add(finish);
    });
    return this.#tasks.get(id) ?? task;
  }

  /** Forgets ended tasks whose time is over. */
  sweep(now: number): void {
    // Timers stand still while the machine sleeps; deadlines do not.
    this.#expireDue();
    for (const task of this.#tasks.values()) {
      if (task.keepUntil !== undefined && task.keepUntil <= now) this.#forget(task);
    }
  }

  close(): void {
    this.#alarm.stop();
    for (const waiters of this.#waiters.values()) for (const finish of waiters) finish();
  }

  #keep(task: Task): void {
    this.#tasks.set(task.id, task);
    this.#store.put('task', task);
    this.#alarm.at(task.deadline);
  }

  #forget(task: Task): void {
    this.#tasks.delete(task.id);
    this.#store.drop('task', task.id);
  }

  #evictOldestEnded(): void {
    if (this.#tasks.size < this.#settings.perSession) return;
    const oldest = this.list().find(hasEnded);
    if (oldest) this.#forget(oldest);
  }

  #expireDue(): void {
    const now = Date.now();
    for (const task of this.atWork()) {
      if (task.deadline === undefined) continue;
      if (task.deadline > now) {
        this.#alarm.at(task.deadline);
        continue;
      }
      const expired = this.apply(task.id, { type: 'expire' });
      if (expired) this.onExpired(expired);
    }
  }

  #announceEnd(task: Task): void {
    const data = { taskId: task.id, toolName: task.tool };
    const about = { taskId: task.id, server: task.server, tool: task.tool };
    switch (task.status) {
      case 'completed':
        this.#events.add('task_completed', task.server, data);
        this.#log.info('task_completed', about);
        break;
      case 'failed':
        this.#events.add('task_failed', task.server, { ...data, error: task.error?.message ?? 'failed' });
        this.#log.warn('task_failed', { ...about, error: task.error?.message });
        break;
      case 'cancelled':
        this.#events.add('task_cancelled', task.server, { ...data, reason: task.statusMessage });
        this.#log.info('task_cancelled', about);
        break;
      case 'expired':
        this.#events.add('task_expired', task.server, { ...data, ttl: task.ttlMs });
        this.#log.warn('task_expired', about);
        break;
      case 'working':
      case 'input_required':
        return;
    }
  }

  #wake(id: string): void {
    for (const finish of this.#waiters.get(id) ?? []) finish();
  }
}

import type { EventSink } from '../core/event/log.ts';
import type { ClaimedSession, Store, StoredSession } from '../core/ports/store.ts';
import { InteractionRouter } from '../core/interaction/router.ts';
import type { Responder } from '../core/interaction/responders.ts';
import type { Answer, Interaction } from '../core/interaction/interaction.ts';
import type { CoreSettings } from '../core/settings.ts';
import { unlimitedQuota } from '../core/shared-limit.ts';
import { TaskBook } from '../core/task/book.ts';
import { hasEnded, type CallResult, type Task, type TaskError } from '../core/task/task.ts';
import { MAX_DELAY_MS, systemClock, type Clock } from '../lib/clock.ts';
import { withNearestNumbers } from '../lib/exact-json.ts';
import { stderrLog, type Log } from '../lib/log.ts';
import type { RpcFailure } from '../lib/rpc-error.ts';
import { every } from '../lib/timers.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { settingsFrom } from './settings.ts';
import type { AppTaskController, AppTaskStart, TaskControllerOptions, TaskQuestion, Waiting } from './types.ts';

/** Owner of the tasks in the store; no client session has this id. */
const OWNER = 'application:tasks';

const NO_EVENTS: EventSink = { add: () => {} };
const NEVER = new AbortController().signal;

/** Creates tasks that any part of the program can work on. A server can share the store. */
export async function createTaskController(options: TaskControllerOptions = {}): Promise<AppTaskController> {
  const settings = settingsFrom(options.settings, options.store);
  const log = stderrLog(settings);
  const store = await openSqliteStore({ path: settings.store, log });
  try {
    const claimed = await store.claim(OWNER);
    if (claimed === undefined) throw new Error('these tasks are in use');
    return new StoredTasks(store, claimed, settings, log, await claimed.load());
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The controller with the methods that only `createTaskServer` uses. */
export class StoredTasks implements AppTaskController {
  readonly store: Store;
  readonly #records: ClaimedSession;
  readonly #tasks: TaskBook;
  readonly #interactions: InteractionRouter;
  readonly #watchers = new Set<(task: Task) => void>();
  /** The answers that are awaited, by task and key. */
  readonly #asking = new Map<string, Promise<Answer>>();
  readonly #stopSweeping: () => void;
  #claimed = false;

  constructor(
    store: Store,
    claimed: ClaimedSession,
    settings: Pick<CoreSettings, 'tasks' | 'questions'>,
    log: Log,
    left: Pick<StoredSession, 'tasks' | 'questions'>,
    clock: Clock = systemClock,
  ) {
    const tasks = new TaskBook({
      sessionId: OWNER,
      store: claimed,
      events: NO_EVENTS,
      settings: settings.tasks,
      quota: unlimitedQuota(),
      log,
      clock,
    });
    const interactions = new InteractionRouter({
      sessionId: OWNER,
      store: claimed,
      tasks,
      events: NO_EVENTS,
      announce: 'unclaimed',
      settings: settings.questions,
      log,
      clock,
    });
    this.store = store;
    this.#records = claimed;
    this.#tasks = tasks;
    this.#interactions = interactions;
    tasks.watch((task) => {
      if (hasEnded(task)) interactions.taskEnded(task.id);
    });
    tasks.restore(left.tasks);
    interactions.restore(left.questions, (taskId) => this.#isAtWork(taskId));
    const sweep = (): void => {
      tasks.sweep(clock.now());
      interactions.sweep();
    };
    this.#stopSweeping = every(settings.tasks.cleanupMs, sweep, clock);
  }

  async create({ tool, args, ttlMs, server = 'application' }: AppTaskStart): Promise<Task> {
    const task = this.#tasks.create({ server, tool, args, ...(ttlMs !== undefined && { ttlMs }) });
    await this.#records.settled();
    for (const notify of this.#watchers) notify(task);
    return task;
  }

  get(taskId: string): Task | undefined {
    return this.#tasks.find(taskId);
  }

  list(): Task[] {
    return this.#tasks.list();
  }

  report(taskId: string, message: string): void {
    this.#tasks.apply(taskId, { type: 'progress', message });
  }

  async ask(taskId: string, question: TaskQuestion): Promise<Answer> {
    if (question.key === undefined) return this.#ask(taskId, question);
    const name = JSON.stringify([taskId, question.key]);
    const earlier = this.#asking.get(name);
    if (earlier !== undefined) return earlier;
    const asking = this.#ask(taskId, question).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    return asking;
  }

  async #ask(taskId: string, { kind, params, key, signal = NEVER }: TaskQuestion): Promise<Answer> {
    const task = this.#tasks.get(taskId);
    if (hasEnded(task)) throw new Error(`task ${taskId} has ended: ${task.status}`);
    const answer = await this.#interactions.ask(task.server, {
      kind,
      params,
      withdrawn: signal,
      taskId,
      detached: true,
      ...(key !== undefined && { key }),
    });
    // Applications are written for JavaScript numbers.
    return withNearestNumbers(answer);
  }

  questions(taskId: string): Interaction[] {
    return this.#interactions.of({ taskId });
  }

  async answer(question: Interaction, answer: unknown): Promise<void> {
    await this.#interactions.answer(question.id, question.kind, answer);
  }

  async complete(taskId: string, result: CallResult): Promise<boolean> {
    const ended = this.#tasks.apply(taskId, { type: 'complete', result });
    await this.#records.settled();
    return ended !== undefined;
  }

  async fail(taskId: string, error: TaskError): Promise<boolean> {
    const ended = this.#tasks.apply(taskId, { type: 'fail', error });
    await this.#records.settled();
    return ended !== undefined;
  }

  async cancel(taskId: string, reason: string): Promise<Task | undefined> {
    const cancelled = this.#tasks.apply(taskId, { type: 'cancel', reason });
    await this.#records.settled();
    return cancelled;
  }

  async until(
    taskId: string,
    wanted: (task: Task) => boolean,
    { timeoutMs = MAX_DELAY_MS, signal = NEVER }: Waiting = {},
  ): Promise<Task> {
    return this.#tasks.until(taskId, wanted, timeoutMs, signal);
  }

  watch(watcher: (task: Task) => void): () => void {
    this.#watchers.add(watcher);
    const stop = this.#tasks.watch(watcher);
    return () => {
      this.#watchers.delete(watcher);
      stop();
    };
  }

  /** Sends the questions of the task to `responder`, until the returned function is called. */
  register(taskId: string, responder: Responder): () => void {
    return this.#interactions.register({ taskId }, responder);
  }

  refuse({ id }: Interaction, error: RpcFailure): void {
    this.#interactions.refuse(id, error);
  }

  /** Only one server at a time: two would both resume the stored calls. */
  claim(): void {
    if (this.#claimed) throw new Error('another server uses these tasks; close it first');
    this.#claimed = true;
  }

  release(): void {
    this.#claimed = false;
  }

  async close(): Promise<void> {
    this.#stopSweeping();
    this.#interactions.close('the program is stopping', (taskId) => this.#isAtWork(taskId));
    this.#tasks.close();
    await this.store.close();
  }

  #isAtWork(taskId: string): boolean {
    const task = this.#tasks.find(taskId);
    return task !== undefined && !hasEnded(task);
  }
}

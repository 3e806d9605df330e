import type { CallOutcome, ServerTask } from '../../core/ports.ts';
import { within } from '../../lib/timers.ts';
import { isObject } from '../../lib/values.ts';
import { hasEnded, RELATED_TASK, ServerFault } from '../server-task.ts';
import { failure, Gone, type Line } from './line.ts';
import type { LiveCall } from './live-calls.ts';
import type { TaskKind } from './task-kind.ts';

/**
 * A task of the 2025-11-25 protocol. `tasks/result` is opened once the task waits for input, because servers deliver their
 * questions on it, or once it has ended; it brings the exact result, or the exact error.
 */
export class CoreTask implements TaskKind {
  news: Promise<unknown> | undefined;
  #outcome: CallOutcome | Gone | undefined;
  readonly #line: Line;
  readonly #live: LiveCall;
  readonly #taskId: string;
  readonly #unwanted = new AbortController();

  constructor(line: Line, live: LiveCall, taskId: string) {
    this.#line = line;
    this.#live = live;
    this.#taskId = taskId;
  }

  async act(task: ServerTask): Promise<CallOutcome | undefined> {
    if (task.status === 'cancelled' && this.#outcome === undefined) {
      return { kind: 'cancelled', reason: task.statusMessage ?? 'the server cancelled its task' };
    }
    if (task.status !== 'working') this.news ??= this.#fetch();
    if (hasEnded(task) && this.#outcome === undefined)
      await within(this.#line.pollTimeoutMs, this.news ?? Promise.resolve());
    const outcome = this.#outcome;
    if (outcome instanceof Gone) {
      this.news = undefined;
      this.#outcome = undefined;
      throw outcome;
    }
    if (outcome === undefined && hasEnded(task)) {
      throw new ServerFault(`the server says that its task is ${task.status}, but leaves tasks/result unanswered`);
    }
    return outcome;
  }

  stop(): void {
    this.#unwanted.abort();
  }

  async #fetch(): Promise<void> {
    const { call } = this.#live;
    try {
      const result = await this.#line.request(
        'tasks/result',
        { taskId: this.#taskId },
        { callId: call.id, signal: AbortSignal.any([call.signal, this.#unwanted.signal]) },
      );
      this.#outcome = { kind: 'result', result: withoutTaskMark(result) };
    } catch (error) {
      this.#outcome = error instanceof Gone ? error : failure(error);
    }
  }
}

/** The mark that ties the result to its task says nothing to whoever made the call. */
function withoutTaskMark(result: Record<string, unknown>): Record<string, unknown> {
  const { _meta, ...rest } = result;
  if (!isObject(_meta) || !(RELATED_TASK in _meta)) return result;
  const { [RELATED_TASK]: _mark, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

import type { CallOutcome, ServerTask } from '../../core/ports/connection.ts';
import { abortSignalOf } from '../../lib/abort.ts';
import { within } from '../../lib/timers.ts';
import { withoutRelatedTask } from '../../lib/meta.ts';
import { serverTaskEnded, ProtocolViolation } from '../server-task.ts';
import { AskedRequests } from './asked-requests.ts';
import { failure, ServerUnavailable, type CallChannel } from './channel.ts';
import type { RunningCall } from './running-calls.ts';
import { inTask, type TaskResumePoint } from './resume-point.ts';
import type { TaskKind } from './task-kind.ts';

/**
 * A task of the 2025-11-25 protocol. `tasks/result` is opened once the task waits for input, because servers deliver their
 * questions on it, or once it has ended; it brings the exact result, or the exact error.
 */
export class CoreTask implements TaskKind {
  news: Promise<unknown> | undefined;
  #outcome: CallOutcome | ServerUnavailable | undefined;
  #fetching: AbortController | undefined;
  #sinceEnd = false;
  /** How many times the connection broke while the result of the ended task was fetched. */
  #broken = 0;
  readonly #channel: CallChannel;
  readonly #live: RunningCall;
  readonly #taskId: string;
  readonly #sessionId: string | undefined;
  readonly #asked: AskedRequests | undefined;

  constructor(channel: CallChannel, live: RunningCall, from: TaskResumePoint) {
    this.#channel = channel;
    this.#live = live;
    this.#taskId = from.taskId;
    this.#sessionId = channel.sessionId;
    if (this.#sessionId === undefined) return;
    this.#asked = new AskedRequests(channel, live, this.#sessionId, () => {
      // If it cannot be stored, the next reply to the client reports it.
      live.call.listener.onCheckpoint(inTask(this.checkpoint)).catch(() => {});
    });
    this.#asked.restore(from);
  }

  get checkpoint(): TaskResumePoint {
    const asked = this.#asked?.list() ?? [];
    return {
      taskId: this.#taskId,
      ...(this.#sessionId !== undefined && { sessionId: this.#sessionId }),
      ...(asked.length > 0 && { asked }),
    };
  }

  async act(task: ServerTask): Promise<CallOutcome | undefined> {
    if (task.status === 'cancelled' && this.#outcome === undefined) {
      return { kind: 'cancelled', reason: task.statusMessage ?? 'the server cancelled its task' };
    }
    if (task.status !== 'input_required') this.#asked?.withdraw();
    const ended = serverTaskEnded(task);
    // A request from before the end may keep waiting: some servers check the task only now and then.
    if (ended ? !this.#sinceEnd : task.status === 'input_required' && this.news === undefined) this.#open(ended);
    if (ended && this.#outcome === undefined) {
      const { pollTimeoutMs, clock } = this.#channel;
      await within(pollTimeoutMs, this.news ?? Promise.resolve(), clock);
    }
    const outcome = this.#outcome;
    if (outcome instanceof ServerUnavailable) {
      this.#outcome = undefined;
      this.#sinceEnd = false;
      this.news = undefined;
      // The result is fetched again when the server is back, unless the connection breaks every time.
      if (ended) this.#broken += 1;
      if (this.#broken > this.#channel.reconnect.attempts) throw outcome;
      return undefined;
    }
    if (outcome === undefined && ended) {
      throw new ProtocolViolation(`the server reports its task as ${task.status}, but does not answer tasks/result`);
    }
    return outcome;
  }

  stop(): void {
    this.#asked?.withdraw();
    this.#fetching?.abort();
  }

  #open(sinceEnd: boolean): void {
    // The outcome is already known.
    if (this.#outcome !== undefined) return;
    this.#fetching?.abort();
    this.#fetching = new AbortController();
    this.#sinceEnd = sinceEnd;
    this.news = this.#fetch(this.#fetching.signal);
  }

  async #fetch(unwanted: AbortSignal): Promise<void> {
    const { call } = this.#live;
    try {
      const result = await this.#channel.request(
        'tasks/result',
        { taskId: this.#taskId },
        { callId: call.id, signal: AbortSignal.any([abortSignalOf(call.signal), unwanted]) },
      );
      this.#outcome ??= { kind: 'result', result: withoutRelatedTask(result) };
    } catch (error) {
      if (!unwanted.aborted) this.#outcome ??= error instanceof ServerUnavailable ? error : failure(error);
    }
  }
}

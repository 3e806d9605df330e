import type { RequestId } from '@modelcontextprotocol/client';
import type { IncomingQuestion, OutgoingCall, Progress } from '../../core/ports.ts';
import { relatedTask } from '../server-task.ts';
import type { AskedRequest } from './standing.ts';

/** A call that has not ended yet. */
export interface LiveCall {
  readonly call: OutgoingCall;
  /** The server keeps it as a task, or was asked to. */
  native: boolean;
  /** The name of that task. */
  taskId?: string;
  /** Between two rounds: the server has forgotten the call until it is sent again. */
  away: boolean;
  /** Resolves at the next news of the task; made anew for each wait. */
  news: Promise<void>;
  ring: () => void;
  /** There when what the server asks can be answered also later, by the id of its request. */
  asked?: (request: AskedRequest) => Pick<IncomingQuestion, 'key' | 'taken'>;
  /** The server has the answer to that request. */
  answered?: (id: RequestId) => void;
}

/** The calls that run on one connection: who a question, a progress report or a change of a task belongs to. */
export class LiveCalls {
  readonly #calls = new Map<string, LiveCall>();

  begin(call: OutgoingCall): LiveCall {
    const live: LiveCall = { call, native: false, away: false, news: Promise.resolve(), ring: () => {} };
    this.#calls.set(call.id, live);
    return live;
  }

  end({ call }: LiveCall): void {
    this.#calls.delete(call.id);
  }

  /** The call that certainly asks: the one whose task is named, or the only one there is. */
  asking(params: Record<string, unknown>): string | undefined {
    const taskId = relatedTask(params);
    if (taskId !== undefined) return this.#ofTask(taskId)?.call.id;
    return this.#calls.size === 1 ? [...this.#calls.keys()][0] : undefined;
  }

  /** What is to be known of a question besides what it asks. */
  asked(callId: string | undefined, request: AskedRequest): Pick<IncomingQuestion, 'key' | 'taken'> {
    return (callId === undefined ? undefined : this.#calls.get(callId)?.asked?.(request)) ?? {};
  }

  answered(id: RequestId): void {
    for (const live of this.#calls.values()) live.answered?.(id);
  }

  /** Whether a server may be too busy with a call to answer anything else. */
  get atWork(): boolean {
    return [...this.#calls.values()].some(({ away, taskId }) => !away && taskId === undefined);
  }

  progressed(params: Record<string, unknown>): void {
    const { progressToken, progress, total, message } = params;
    const taskId = relatedTask(params);
    const live = this.#calls.get(String(progressToken)) ?? (taskId === undefined ? undefined : this.#ofTask(taskId));
    if (live === undefined || typeof progress !== 'number') return;
    const report: Progress = { progress };
    if (typeof total === 'number') report.total = total;
    if (typeof message === 'string') report.message = message;
    live.call.onProgress(report);
  }

  /** The server says that a task changed. */
  taskChanged({ taskId }: Record<string, unknown>): void {
    if (typeof taskId === 'string') this.#ofTask(taskId)?.ring();
  }

  /** Much may have changed while the server was away. */
  ringAll(): void {
    for (const live of this.#calls.values()) live.ring();
  }

  #ofTask(taskId: string): LiveCall | undefined {
    return [...this.#calls.values()].find((live) => live.taskId === taskId);
  }
}

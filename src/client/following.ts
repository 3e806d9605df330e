import { LEAVE_RUNNING, type CallListener, type CallOutcome, type OutgoingCall } from '../core/ports/connection.ts';
import { secretId } from '../lib/ids.ts';
import { requestError, TaskClientError, unlessCancelled } from './task-client-error.ts';

export type End = CallOutcome | TaskClientError;

/** A call that runs, or a task that is followed. */
export interface Running {
  readonly toolName: string;
  readonly params: Record<string, unknown>;
  taskId?: string;
  /** Aborted to cancel it, or to leave it running. */
  readonly stop: AbortController;
}

/** A running call or task whose end several callers may await. */
export interface Followed extends Running {
  readonly end: Promise<End>;
  /** Followed only for its result: emits no events. */
  readonly quiet: boolean;
  waiting: number;
}

export type StartCall = (call: OutgoingCall) => Promise<CallOutcome>;

/** The calls that a client has running and the tasks that it follows, until each has ended or the client has left. */
export class Following {
  readonly #followed = new Map<string, Followed>();
  /** The client is disconnecting: calls that end from now on may continue on the server. */
  #left = false;

  get left(): boolean {
    return this.#left;
  }

  /** Starts something and keeps track of it until it has ended. */
  begin(
    running: Running,
    quiet: boolean,
    hooks: Pick<CallListener, 'onTask' | 'onProgress'>,
    start: StartCall,
  ): Followed {
    const id = secretId();
    const late = this.#left;
    const { toolName: tool, params: args, stop } = running;
    // This client does not resume calls of an earlier process.
    const listener: CallListener = { ...hooks, onCheckpoint: async () => {} };
    const end = start({ id, tool, args, tasks: 'use', signal: stop.signal, listener })
      .catch((error: unknown) => requestError(error, undefined))
      .then((ended) => this.#explained(ended, stop.signal, late))
      .finally(() => this.#followed.delete(id));
    const followed: Followed = Object.assign(running, { end, quiet, waiting: 0 });
    this.#followed.set(id, followed);
    return followed;
  }

  /** The call with this id. */
  byCall(id: string): Followed | undefined {
    return this.#followed.get(id);
  }

  byTask(taskId: string): Followed | undefined {
    return [...this.#followed.values()].find((each) => each.taskId === taskId && !each.stop.signal.aborted);
  }

  /** Waits for the end; a task that is followed only for its result is left with its last waiter. */
  async endOf(followed: Followed, signal: AbortSignal | undefined): Promise<End> {
    followed.waiting += 1;
    try {
      return await unlessCancelled(signal, followed.end);
    } finally {
      followed.waiting -= 1;
      if (followed.quiet && followed.waiting === 0) followed.stop.abort(LEAVE_RUNNING);
    }
  }

  leave(): void {
    this.#left = true;
  }

  /** Stops following; native tasks continue on the server. */
  letGo(): void {
    for (const { stop } of this.#followed.values()) stop.abort(LEAVE_RUNNING);
  }

  /** Replaces the outcome of a call that was stopped with the reason. */
  #explained(end: End, { aborted, reason }: AbortSignal, late: boolean): End {
    if (end.kind === 'result') return end;
    if (aborted && reason !== LEAVE_RUNNING) return new TaskClientError('cancelled', 'the call was cancelled');
    const gone = aborted || end.kind === 'lost' || end.kind === 'unreachable';
    return gone && this.#left && !late ? new TaskClientError('lost', 'disconnected before the end') : end;
  }
}

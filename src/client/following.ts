import { LEAVE_RUNNING, type CallOutcome, type OutgoingCall } from '../core/ports.ts';
import { secretId } from '../lib/ids.ts';
import { unlessCancelled } from './cancelled.ts';
import { requestError, TaskClientError } from './task-client-error.ts';

export type End = CallOutcome | TaskClientError;

/** What is known of a call that runs, or of a task that is followed. */
export interface Running {
  readonly toolName: string;
  readonly params: Record<string, unknown>;
  taskId?: string;
  /** Aborted to cancel it, or to leave it running. */
  readonly stop: AbortController;
}

/** One whose end several may wait for. */
export interface Followed extends Running {
  readonly end: Promise<End>;
  /** Nobody wants to hear of it but those who wait for its result. */
  readonly quiet: boolean;
  waiting: number;
}

export type Start = (call: OutgoingCall) => Promise<CallOutcome>;

/** The calls that a client has running and the tasks that it follows, until each has ended or the client has left. */
export class Following {
  readonly #followed = new Map<string, Followed>();
  /** Somebody disconnects the client: what ends from now on need not have ended on the server. */
  #left = false;

  get left(): boolean {
    return this.#left;
  }

  /** Starts something and keeps track of it until it has ended. */
  begin(running: Running, quiet: boolean, hooks: Pick<OutgoingCall, 'onTask' | 'onProgress'>, start: Start): Followed {
    const id = secretId();
    const late = this.#left;
    const { toolName: tool, params: args, stop } = running;
    // A client that ends has nobody to go on.
    const onCheckpoint = async (): Promise<void> => {};
    const end = start({ id, tool, args, tasks: 'use', signal: stop.signal, ...hooks, onCheckpoint })
      .catch((error: unknown) => requestError(error, undefined))
      .then((ended) => this.#explained(ended, stop.signal, late))
      .finally(() => this.#followed.delete(id));
    const followed: Followed = Object.assign(running, { end, quiet, waiting: 0 });
    this.#followed.set(id, followed);
    return followed;
  }

  /** What asks by this id. */
  byCall(id: string): Followed | undefined {
    return this.#followed.get(id);
  }

  byTask(taskId: string): Followed | undefined {
    return [...this.#followed.values()].find((each) => each.taskId === taskId && !each.stop.signal.aborted);
  }

  /** Waits for the end; what only those who wait want to hear of is let go with the last of them. */
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

  /** What the server keeps goes on there; only nobody follows it any more. */
  letGo(): void {
    for (const { stop } of this.#followed.values()) stop.abort(LEAVE_RUNNING);
  }

  /** Says of what was stopped why. */
  #explained(end: End, { aborted, reason }: AbortSignal, late: boolean): End {
    if (end.kind === 'result') return end;
    if (aborted && reason !== LEAVE_RUNNING) return new TaskClientError('cancelled', 'the call was cancelled');
    const gone = aborted || end.kind === 'lost' || end.kind === 'unreachable';
    return gone && this.#left && !late ? new TaskClientError('lost', 'disconnected before the end') : end;
  }
}

import type { RequestId } from '@modelcontextprotocol/client';
import type { RelatedRequest, Asker, IncomingQuestion, OutgoingCall, Progress } from '../../core/ports/connection.ts';
import { InFlight } from '../../lib/in-flight.ts';
import { LazyMap, LazySet } from '../../lib/lazy-collections.ts';
import { relatedTask } from '../../lib/meta.ts';
import type { StreamTag } from '../transport/transport.ts';
import type { AskedRequest } from './resume-point.ts';

const MAX_EARLY = 100;

/** A call that has not ended yet. */
export interface RunningCall {
  readonly call: OutgoingCall;
  /** It is from before a restart. */
  readonly resumed: boolean;
  outcome?: Promise<unknown>;
  /** The server runs it as a task, or was asked to. */
  native: boolean;
  /** The id of that task. */
  taskId?: string;
  /** Between two rounds: the server has forgotten the call until it is sent again. */
  away: boolean;
  /** Resolves at the next status change of the task; replaced for each wait. */
  news: Promise<void>;
  ring: () => void;
  /** Present when requests of the server can also be answered later, by their ids. */
  asked?: (request: AskedRequest, withdrawn: AbortSignal) => Pick<IncomingQuestion, 'key' | 'taken'>;
  /** The server has received the answer to this request. */
  answered?: (id: RequestId) => void;
  /** Tasks that changed before this call knew its task id. */
  early?: Set<string>;
  readonly onEnd: (() => void)[];
}

export interface OtherRequest {
  id?: string | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The calls on one connection: finds the call that a question, a progress report or a status change belongs to. */
export class RunningCalls {
  readonly #calls = new InFlight<string, RunningCall>();
  /** Open requests other than calls; the server may ask because of them, too. */
  readonly #others = new LazyMap<string | symbol, OtherRequest>();
  /** Questions that one of these other requests may have asked. */
  readonly #waiting = new LazySet<{ requests: Set<string | symbol>; ended: AbortController }>();

  begin(call: OutgoingCall, { resumed }: Pick<RunningCall, 'resumed'> = { resumed: false }): RunningCall {
    const live: RunningCall = {
      call,
      resumed,
      native: false,
      away: false,
      news: Promise.resolve(),
      ring: () => {},
      onEnd: [],
    };
    this.#calls.add(call.id, live);
    return live;
  }

  end({ call, onEnd }: RunningCall): void {
    this.#calls.delete(call.id);
    for (const told of onEnd) told();
  }

  isResumed(callId: string | undefined): boolean {
    return callId !== undefined && this.#calls.get(callId)?.resumed === true;
  }

  /** Whether the call has been cancelled, or is left to another gateway. */
  isStopped(callId: string | undefined): boolean {
    return callId !== undefined && this.#calls.get(callId)?.call.signal.aborted === true;
  }

  /** The outcomes of the cancelled calls: they have one when the server knows of the cancellation. */
  cancelledOutcomes(): Promise<unknown>[] {
    const cancelled = this.#calls.values().filter(({ call }) => call.signal.aborted);
    return cancelled.flatMap(({ outcome }) => outcome ?? []);
  }

  /** Resolves when the server knows that this call is cancelled; immediately if it is not cancelled. */
  async cancelled(callId: string | undefined): Promise<void> {
    const live = callId === undefined ? undefined : this.#calls.get(callId);
    if (!live?.native || !live.call.signal.aborted) return;
    await new Promise<void>((resolve) => {
      live.onEnd.push(resolve);
    });
  }

  /** The request that asked: by the task in the question, by its stream, or the only possible one. */
  askerOf(params: Record<string, unknown>, stream: StreamTag): Asker {
    const taskId = relatedTask(params);
    if (taskId !== undefined) {
      const live = this.#ofTask(taskId);
      // The question may arrive before the reply that names the task.
      const unnamed = this.#able(({ native, taskId: named }) => native && named === undefined);
      return live ? { callId: live.call.id } : oneOf(unnamed, undefined);
    }
    if (stream === 'no call') return oneOf([], this.#untilOthersEnd());
    if (stream !== 'any') return { callId: stream.callId };
    const others = this.#others.size > 0;
    // A question of a task names the task. So tasks are candidates only when no other request is open.
    const plain = this.#able(({ native }) => !native);
    const calls = plain.length > 0 || others ? plain : this.#able(() => true);
    const [other] = this.#others.values();
    const only = calls.length + this.#others.size === 1 ? (calls[0] ?? other?.id) : undefined;
    return only === undefined ? oneOf(calls, this.#untilOthersEnd()) : { callId: only };
  }

  /** The request that a notification belongs to: by its stream, or the only open one. */
  relatedRequest(stream: StreamTag): RelatedRequest {
    if (stream === 'no call') return 'no request';
    const requestId = stream === 'any' ? this.#only() : stream.callId;
    return requestId === undefined ? 'unknown' : { requestId };
  }

  /** Registers a request until the returned function is called. With an id it receives its own progress. */
  beginOther({ id, onProgress }: OtherRequest = {}): () => void {
    const key = id ?? Symbol('nameless');
    this.#others.set(key, { id, onProgress });
    return () => {
      this.#others.delete(key);
      for (const waiting of this.#waiting) {
        if (!waiting.requests.delete(key) || waiting.requests.size > 0) continue;
        this.#waiting.delete(waiting);
        waiting.ended.abort();
      }
    };
  }

  /** Aborted when the other requests that are open now have ended; `undefined` if there are none. */
  #untilOthersEnd(): AbortSignal | undefined {
    if (this.#others.size === 0) return undefined;
    const ended = new AbortController();
    this.#waiting.add({ requests: new Set(this.#others.keys()), ended });
    return ended.signal;
  }

  #only(): string | undefined {
    if (this.#calls.size + this.#others.size !== 1) return undefined;
    return this.#calls.oldest?.key ?? [...this.#others.values()][0]?.id;
  }

  /** The fields that let a question of a call survive its connection. */
  asked(
    callId: string | undefined,
    request: AskedRequest,
    withdrawn: AbortSignal,
  ): Pick<IncomingQuestion, 'key' | 'taken'> {
    return (callId === undefined ? undefined : this.#calls.get(callId)?.asked?.(request, withdrawn)) ?? {};
  }

  answered(id: RequestId): void {
    for (const live of this.#calls.values()) live.answered?.(id);
  }

  /** Whether a server may be too busy with a call to answer anything else. */
  get atWork(): boolean {
    return this.#calls.values().some(({ away, taskId }) => !away && taskId === undefined);
  }

  /** Passes a report to its call or request, found by token or task; false if there is none. */
  progressed(token: unknown, taskId: string | undefined, report: Progress): boolean {
    const live = this.#calls.get(String(token)) ?? (taskId === undefined ? undefined : this.#ofTask(taskId));
    const listener = live?.call.listener ?? this.#others.get(String(token));
    if (listener?.onProgress === undefined) return false;
    listener.onProgress(report);
    return true;
  }

  /** The server reports a change of a task. */
  taskChanged({ taskId }: Record<string, unknown>): void {
    if (typeof taskId !== 'string') return;
    const live = this.#ofTask(taskId);
    if (live) {
      live.ring();
      return;
    }
    for (const each of this.#calls.values()) {
      if (each.taskId !== undefined) continue;
      each.early ??= new Set();
      if (each.early.size < MAX_EARLY) each.early.add(taskId);
    }
  }

  /** Makes every call check its task, which may have changed during a disconnect. */
  ringAll(): void {
    for (const live of this.#calls.values()) live.ring();
  }

  /** Ids of the calls that the server is working on, and that match. */
  #able(matching: (live: RunningCall) => boolean): string[] {
    return this.#calls
      .values()
      .filter((live) => !live.away && matching(live))
      .map(({ call }) => call.id);
  }

  #ofTask(taskId: string): RunningCall | undefined {
    return this.#calls.values().find((live) => live.taskId === taskId);
  }
}

function oneOf(calls: string[], othersEnded: AbortSignal | undefined): Asker {
  const others = othersEnded !== undefined;
  if (calls.length === 0 && !others) return {};
  return { candidates: { calls, others }, ...(others && { othersEnded }) };
}

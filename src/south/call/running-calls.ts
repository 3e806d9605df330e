import type { RequestId } from '@modelcontextprotocol/client';
import type { RelatedRequest, Asker, IncomingQuestion, OutgoingCall, Progress } from '../../core/ports.ts';
import { relatedTask } from '../../lib/related-task.ts';
import type { StreamTag } from '../transport/stream-tag.ts';
import type { AskedRequest } from './resume-point.ts';

const MAX_EARLY = 100;

/** A call that has not ended yet. */
export interface RunningCall {
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
  asked?: (request: AskedRequest, withdrawn: AbortSignal) => Pick<IncomingQuestion, 'key' | 'taken'>;
  /** The server has the answer to that request. */
  answered?: (id: RequestId) => void;
  /** Tasks that changed before this call knew the name of its own. */
  readonly early: Set<string>;
  readonly onEnd: (() => void)[];
}

export interface OtherRequest {
  id?: string | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** The calls that run on one connection: who a question, a progress report or a change of a task belongs to. */
export class RunningCalls {
  readonly #calls = new Map<string, RunningCall>();
  /** Requests that are no calls, but in whose course the server may ask and tell, too. */
  readonly #others = new Map<string | symbol, OtherRequest>();
  /** Questions that one of these other requests may have asked. */
  readonly #waiting = new Set<{ requests: Set<string | symbol>; ended: AbortController }>();

  begin(call: OutgoingCall): RunningCall {
    const live: RunningCall = {
      call,
      native: false,
      away: false,
      news: Promise.resolve(),
      ring: () => {},
      early: new Set(),
      onEnd: [],
    };
    this.#calls.set(call.id, live);
    return live;
  }

  end({ call, onEnd }: RunningCall): void {
    this.#calls.delete(call.id);
    for (const told of onEnd) told();
  }

  /** Resolves when the server has been told that this call is cancelled; at once if it is not. */
  async cancelled(callId: string | undefined): Promise<void> {
    const live = callId === undefined ? undefined : this.#calls.get(callId);
    if (!live?.native || !live.call.signal.aborted) return;
    await new Promise<void>((resolve) => {
      live.onEnd.push(resolve);
    });
  }

  /** Who asked: the call whose task is named, the request on whose stream the question came, or the only one that can. */
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

  /** The request on whose stream something was said, or the only one there is. */
  relatedRequest(stream: StreamTag): RelatedRequest {
    if (stream === 'no call') return 'no request';
    const requestId = stream === 'any' ? this.#only() : stream.callId;
    return requestId === undefined ? 'unknown' : { requestId };
  }

  /** It is over when the returned function is called. One that has a name can be told what belongs to it. */
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
    return [...this.#calls.keys()][0] ?? [...this.#others.values()][0]?.id;
  }

  /** What is to be known of a question besides what it asks. */
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
    return [...this.#calls.values()].some(({ away, taskId }) => !away && taskId === undefined);
  }

  /** Hands a report to whoever it belongs to, by its token or its task; false if that is nobody here. */
  progressed(token: unknown, taskId: string | undefined, report: Progress): boolean {
    const live = this.#calls.get(String(token)) ?? (taskId === undefined ? undefined : this.#ofTask(taskId));
    const tell = live?.call.onProgress ?? this.#others.get(String(token))?.onProgress;
    tell?.(report);
    return tell !== undefined;
  }

  /** The server says that a task changed. */
  taskChanged({ taskId }: Record<string, unknown>): void {
    if (typeof taskId !== 'string') return;
    const live = this.#ofTask(taskId);
    if (live) {
      live.ring();
      return;
    }
    for (const { taskId: named, early } of this.#calls.values()) {
      if (named === undefined && early.size < MAX_EARLY) early.add(taskId);
    }
  }

  /** Much may have changed while the server was away. */
  ringAll(): void {
    for (const live of this.#calls.values()) live.ring();
  }

  /** Ids of the calls that the server is working on, and that match. */
  #able(matching: (live: RunningCall) => boolean): string[] {
    return [...this.#calls.values()].filter((live) => !live.away && matching(live)).map(({ call }) => call.id);
  }

  #ofTask(taskId: string): RunningCall | undefined {
    return [...this.#calls.values()].find((live) => live.taskId === taskId);
  }
}

function oneOf(calls: string[], othersEnded: AbortSignal | undefined): Asker {
  const others = othersEnded !== undefined;
  if (calls.length === 0 && !others) return {};
  return { candidates: { calls, others }, ...(others && { othersEnded }) };
}

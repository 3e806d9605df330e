import type { RequestId } from '@modelcontextprotocol/client';
import type { IncomingQuestion } from '../../core/ports/connection.ts';
import { abortSignalOf } from '../../lib/abort.ts';
import { messageOf } from '../../lib/log.ts';
import { NOT_ANSWERED } from '../../lib/rpc-error.ts';
import { ConnectionClosed } from '../peer/errors.ts';
import { answerTo } from '../questions.ts';
import { retryThroughDisconnects, type CallChannel } from './channel.ts';
import type { RunningCall } from './running-calls.ts';
import { answerOne } from './mrtr.ts';
import type { AskedRequest, TaskResumePoint } from './resume-point.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

interface PendingRequest {
  request: AskedRequest;
  key: string;
  taken: AbortController;
  /** For a request from before a restart, which the server can no longer cancel. */
  withdraw?: AbortController;
}

/**
 * Requests that a server sent for a native task and that have no answer yet. The server does not repeat them; but while it
 * knows our session, it accepts an answer by request id, even after a restart.
 */
export class AskedRequests {
  readonly #asked = new Map<RequestId, PendingRequest>();
  readonly #channel: CallChannel;
  readonly #live: RunningCall;
  readonly #sessionId: string;
  readonly #onChange: () => void;

  constructor(channel: CallChannel, live: RunningCall, sessionId: string, onChange: () => void) {
    this.#channel = channel;
    this.#live = live;
    this.#sessionId = sessionId;
    this.#onChange = onChange;
    live.asked = (request, withdrawn) => this.#opened(request, withdrawn);
    live.answered = (id) => this.#answered(id);
  }

  list(): AskedRequest[] {
    return [...this.#asked.values()].map(({ request }) => request);
  }

  /** Restores requests after a restart; those of a forgotten session are withdrawn. */
  restore({ sessionId, asked = [] }: TaskResumePoint): void {
    for (const request of asked) {
      const key = keyOf(request, sessionId);
      const restored = { request, key, taken: new AbortController(), withdraw: new AbortController() };
      if (sessionId === this.#sessionId) this.#asked.set(request.id, restored);
      void this.#askAgain(restored);
      if (sessionId !== this.#sessionId) restored.withdraw.abort(new Error('the server no longer knows the session'));
    }
  }

  /** The task no longer waits for input. */
  withdraw(): void {
    for (const { withdraw } of this.#asked.values()) withdraw?.abort();
  }

  #opened(request: AskedRequest, withdrawn: AbortSignal): Required<Pick<IncomingQuestion, 'key' | 'taken'>> {
    const taken = new AbortController();
    const key = keyOf(request, this.#sessionId);
    const asked: PendingRequest = { request, key, taken };
    this.#asked.set(request.id, asked);
    const onWithdrawn = (): void => {
      // A closed connection does not withdraw the request: it can be answered on the next one.
      if (!(withdrawn.reason instanceof ConnectionClosed)) this.#forget(asked);
    };
    withdrawn.addEventListener('abort', onWithdrawn, { once: true });
    this.#onChange();
    return { key, taken: taken.signal };
  }

  #answered(id: RequestId): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    asked.taken.abort();
    this.#forget(asked);
  }

  #forget(asked: PendingRequest): void {
    const { id } = asked.request;
    // Another session may have a question with the same id.
    if (this.#asked.get(id) !== asked) return;
    this.#asked.delete(id);
    this.#onChange();
  }

  async #askAgain(asked: Required<PendingRequest>): Promise<void> {
    const { request, key, taken, withdraw } = asked;
    const { call } = this.#live;
    const withdrawn = AbortSignal.any([abortSignalOf(call.signal), withdraw.signal]);
    const fate = { key, callId: call.id, withdrawn, taken: taken.signal };
    const response = await answerOne({ ...request }, fate, this.#channel).then(
      (result) => ({ result: answerTo(request.params, result) }),
      (error: unknown) => ({ error: { code: NOT_ANSWERED, message: messageOf(error) } }),
    );
    if (call.signal.aborted) return;
    if (withdraw.signal.aborted) {
      this.#forget(asked);
      return;
    }
    try {
      await retryThroughDisconnects(this.#channel, call.signal, () => this.#channel.respond(request.id, response));
    } catch {
      // The task has ended or its server is lost, which the follower of the task reports.
    }
  }
}

/** Request ids are unique only within a session. */
function keyOf({ id }: AskedRequest, sessionId: string | undefined): string {
  return `${sessionId} ${stringifyExact(id)}`;
}

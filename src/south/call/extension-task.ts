import { isDeepStrictEqual } from 'node:util';
import type { CallOutcome, ServerTask } from '../../core/ports/connection.ts';
import { abortSignalOf } from '../../lib/abort.ts';
import { isObject } from '../../lib/values.ts';
import { ErrorResponse } from '../peer/errors.ts';
import { serverTaskEnded, ProtocolViolation } from '../server-task.ts';
import { retryThroughDisconnects, type CallChannel } from './channel.ts';
import type { RunningCall } from './running-calls.ts';
import { answerOne, readInputRequests } from './mrtr.ts';
import type { TaskResumePoint } from './resume-point.ts';
import type { TaskKind } from './task-kind.ts';

interface PendingInput {
  request: Record<string, unknown>;
  withdraw: AbortController;
  /** When the server acknowledged the answer. */
  answeredAt?: number;
  /** The server no longer shows the question. */
  gone: boolean;
  /** The server rejected the answer. */
  refused?: ErrorResponse;
}

/** A task of the extension: `tasks/get` returns everything, and questions are answered with `tasks/update`. */
export class ExtensionTask implements TaskKind {
  news: Promise<unknown> | undefined;
  readonly #asked = new Map<string, PendingInput>();
  #trouble: Error | undefined;
  #askingNothingSince: number | undefined;
  #ring: () => void = () => {};
  readonly #channel: CallChannel;
  readonly #live: RunningCall;
  readonly #taskId: string;

  constructor(channel: CallChannel, live: RunningCall, taskId: string) {
    this.#channel = channel;
    this.#live = live;
    this.#taskId = taskId;
  }

  async act(task: ServerTask, raw: Record<string, unknown>): Promise<CallOutcome | undefined> {
    if (this.#trouble !== undefined && !serverTaskEnded(task)) throw this.#trouble;
    this.news = new Promise<void>((resolve) => {
      this.#ring = resolve;
    });
    switch (task.status) {
      case 'working':
        this.#askingNothingSince = undefined;
        this.#show({});
        return undefined;
      case 'input_required': {
        const requests = readInputRequests(raw['inputRequests']);
        this.#checkThatItAsks(requests);
        this.#show(requests);
        return undefined;
      }
      case 'completed':
        return { kind: 'result', result: resultIn(raw) };
      case 'failed':
        return { kind: 'error', error: errorIn(raw, task) };
      case 'cancelled':
        return { kind: 'cancelled', reason: task.statusMessage ?? 'the server cancelled its task' };
    }
  }

  get checkpoint(): TaskResumePoint {
    return { taskId: this.#taskId };
  }

  stop(): void {
    for (const { withdraw } of this.#asked.values()) withdraw.abort();
  }

  #checkThatItAsks(requests: Record<string, unknown>): void {
    if (Object.keys(requests).length > 0) {
      this.#askingNothingSince = undefined;
      return;
    }
    const now = this.#channel.clock.now();
    this.#askingNothingSince ??= now;
    if (now - this.#askingNothingSince > this.#channel.pollTimeoutMs) {
      throw new ProtocolViolation('the server reports that its task needs input, but sends no inputRequests');
    }
  }

  /** Asks new questions, and withdraws those that the server no longer asks. */
  #show(requests: Record<string, Record<string, unknown>>): void {
    for (const [key, asked] of this.#asked) {
      if (Object.hasOwn(requests, key)) continue;
      asked.gone = true;
      asked.withdraw.abort();
    }
    for (const [key, request] of Object.entries(requests)) {
      const before = this.#asked.get(key);
      if (before === undefined) this.#ask(key, request);
      else this.#recheck(key, request, before);
    }
    this.#live.call.listener.onAllAsked?.();
  }

  /** A key identifies one question for the lifetime of the task; an acknowledged answer may take effect with a delay. */
  #recheck(
    key: string,
    request: Record<string, unknown>,
    { request: first, answeredAt, gone, refused }: PendingInput,
  ): void {
    if (refused !== undefined) throw refused;
    if (gone || !isDeepStrictEqual(request, first)) {
      throw new ProtocolViolation(
        `the server reused the question key '${key}', which may be used for one question only`,
      );
    }
    if (answeredAt !== undefined && this.#channel.clock.now() - answeredAt > this.#channel.pollTimeoutMs) {
      throw new ProtocolViolation(`the server acknowledged the answer to its question '${key}', but still asks it`);
    }
  }

  #ask(key: string, request: Record<string, unknown>): void {
    const asked: PendingInput = { request, withdraw: new AbortController(), gone: false };
    this.#asked.set(key, asked);
    this.#answer(key, asked).catch((error: unknown) => {
      // Withdrawn by us because the server no longer asks it, or because the call has ended.
      if (asked.withdraw.signal.aborted) return;
      // The server may have continued without the answer; it is an error only if it still asks.
      if (error instanceof ErrorResponse) asked.refused = error;
      else this.#trouble = error instanceof Error ? error : new Error(String(error));
      this.#ring();
    });
  }

  async #answer(key: string, asked: PendingInput): Promise<void> {
    const { call } = this.#live;
    const withdrawn = AbortSignal.any([abortSignalOf(call.signal), asked.withdraw.signal]);
    const taken = new AbortController();
    const fate = { key, callId: call.id, withdrawn, taken: taken.signal };
    const answer = await answerOne(asked.request, fate, this.#channel);
    const params = { taskId: this.#taskId, inputResponses: { [key]: answer } };
    const timeoutMs = this.#channel.pollTimeoutMs;
    await retryThroughDisconnects(this.#channel, call.signal, () =>
      this.#channel.request('tasks/update', params, { timeoutMs }),
    );
    asked.answeredAt = this.#channel.clock.now();
    taken.abort();
    this.#ring();
  }
}

function resultIn({ result }: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(result)) throw new ProtocolViolation('the server reports its task as completed, but sends no result');
  const { resultType: _resultType, ...rest } = result;
  return rest;
}

function errorIn(
  { error }: Record<string, unknown>,
  task: ServerTask,
): { code: number; message: string; data?: unknown } {
  if (isObject(error) && typeof error['message'] === 'string') {
    const { code, message, data } = error;
    return { code: typeof code === 'number' ? code : -32603, message, ...(data !== undefined && { data }) };
  }
  return { code: -32603, message: task.statusMessage ?? 'the task failed on the server' };
}

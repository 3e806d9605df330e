import { ProtocolError, SdkError, SdkErrorCode, type RequestId } from '@modelcontextprotocol/client';
import type { CallOutcome, IncomingQuestion, OutgoingCall } from '../../core/ports.ts';
import type { Answer } from '../../core/interaction/interaction.ts';
import { backoffDelay, type BackoffSettings } from '../../lib/backoff.ts';
import { messageOf } from '../../lib/log.ts';
import { RpcError, rpcFailure } from '../../lib/rpc-error.ts';
import { failureKindOf, type ServerFailureKind } from '../../lib/server-failure.ts';
import type { SendOptions } from '../send.ts';
import { ProtocolViolation, type TaskOffer } from '../server-task.ts';
import { pause } from './pause.ts';

/** What a call needs of its server. It outlives the single connection: a lost one is made again by the next request. */
export interface CallChannel {
  /** Throws `ServerUnavailable` when the server cannot be reached, or is lost before it answers. */
  request(method: string, params: Record<string, unknown>, options?: SendOptions): Promise<Record<string, unknown>>;
  /** What the `_meta` of a call must say in this server's protocol; without the offer to take tasks, if so wanted. */
  callMeta(tasks: 'use' | 'avoid'): Promise<Record<string, unknown>>;
  taskOffer(): Promise<TaskOffer | undefined>;
  /** Whether this tool may, must or must not be asked to run as a task. */
  taskSupport(tool: string, signal?: AbortSignal): Promise<'forbidden' | 'optional' | 'required'>;
  /** What else the tool wants as headers, as far as that is known; `anew` reads its list of tools first. */
  paramHeaders(call: OutgoingCall, anew?: 'anew'): Promise<Record<string, string>>;
  question(question: IncomingQuestion): Promise<Answer>;
  /** Answers a request of the server that came over an earlier connection in the same session. */
  respond(id: RequestId, response: { result: Answer } | { error: { code: number; message: string } }): Promise<void>;
  /** Asks for news of a task where that can be asked for, once on each connection; they come as notifications. */
  listenForTask(taskId: string, until: AbortSignal): void;
  readonly reconnect: BackoffSettings & { attempts: number };
  readonly pollTimeoutMs: number;
  readonly closed: boolean;
  /** The session that the server knows us by, where it has such. */
  readonly sessionId: string | undefined;
}

/** The server is not there. `unreachable`: nothing was sent. `lost`: something may have arrived, no answer came. */
export class ServerUnavailable extends Error {
  readonly kind: 'unreachable' | 'lost';
  readonly failure: ServerFailureKind | undefined;

  constructor(kind: ServerUnavailable['kind'], cause: unknown) {
    super(messageOf(cause), { cause });
    this.kind = kind;
    this.failure = failureKindOf(cause);
  }
}

/** Repeats what came to nothing because the server was away, until it comes back or has been away too long. */
export async function retryThroughDisconnects<T>(
  channel: CallChannel,
  signal: AbortSignal,
  work: () => Promise<T>,
  kinds: readonly ServerUnavailable['kind'][] = ['unreachable', 'lost'],
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const mayReturn = error instanceof ServerUnavailable && kinds.includes(error.kind) && !channel.closed;
      if (!mayReturn || attempt > channel.reconnect.attempts) throw error;
    }
    await pause(backoffDelay(attempt, channel.reconnect), signal);
  }
}

/** How a call ends when something was thrown. */
export function failure(error: unknown): Exclude<CallOutcome, { kind: 'result' }> {
  if (error instanceof ServerUnavailable) {
    const { kind, message: reason, failure } = error;
    return { kind, reason, ...(failure && { failure }) };
  }
  if (error instanceof ProtocolViolation) return { kind: 'error', error: { code: -32000, message: error.message } };
  if (error instanceof ProtocolError) return { kind: 'error', error: rpcFailure(error) };
  if (error instanceof RpcError) return { kind: 'error', error: rpcFailure(error) };
  return { kind: 'error', error: { code: -32603, message: messageOf(error) } };
}

export function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

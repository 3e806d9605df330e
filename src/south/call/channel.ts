import type { RequestId } from '@modelcontextprotocol/client';
import type { CallOutcome, IncomingQuestion } from '../../core/ports/connection.ts';
import type { Answer } from '../../core/interaction/interaction.ts';
import type { StopSignal } from '../../lib/abort.ts';
import { backoffDelay, type BackoffSettings } from '../../lib/backoff.ts';
import type { Clock } from '../../lib/clock.ts';
import { signInIn } from '../../core/sign-in/required.ts';
import { messageOf } from '../../lib/log.ts';
import { RpcError, rpcFailure } from '../../lib/rpc-error.ts';
import { failureKindOf, type ServerFailureKind } from '../../lib/server-failure.ts';
import { ErrorResponse, RequestTimeout } from '../peer/errors.ts';
import type { RequestOptions } from '../peer/peer.ts';
import { ProtocolViolation, type TaskOffer } from '../server-task.ts';
import { pause } from './pause.ts';

/** An attempt at a call: everything is decided about, and sent on, the same connection to the server. */
export interface Attempt {
  readonly clock: Clock;
  /** The server's task support. */
  readonly offer: TaskOffer | undefined;
  /** False once another connection has replaced this one, or the server is disconnected. */
  readonly isCurrent: boolean;
  /** Throws `ServerUnavailable` if the connection is lost before the server answers. */
  request(method: string, params: Record<string, unknown>, options?: RequestOptions): Promise<Record<string, unknown>>;
  /** The `_meta` that this server's protocol requires in a call, if any; `avoid` does not offer to take tasks. */
  callMeta(tasks: 'use' | 'avoid'): Record<string, unknown> | undefined;
  /** Whether this tool may, must or must not be asked to run as a task. */
  taskSupport(tool: string, signal?: StopSignal): Promise<'forbidden' | 'optional' | 'required'>;
}

/** A call's access to its server. It outlives connections: the next attempt or request replaces a lost one. */
export interface CallChannel {
  /** Connects unless connected. Throws `ServerUnavailable` when the server cannot be reached. */
  attempt(): Promise<Attempt> | Attempt;
  /** One request in a separate attempt. */
  request(method: string, params: Record<string, unknown>, options?: RequestOptions): Promise<Record<string, unknown>>;
  question(question: IncomingQuestion): Promise<Answer>;
  /** Answers a request of the server that came over an earlier connection in the same session. */
  respond(id: RequestId, response: { result: Answer } | { error: { code: number; message: string } }): Promise<void>;
  /** Subscribes to status changes of a task where possible, once per connection; they arrive as notifications. */
  listenForTask(taskId: string, until: AbortSignal): void;
  readonly reconnect: BackoffSettings & { attempts: number };
  readonly pollTimeoutMs: number;
  readonly clock: Clock;
  readonly closed: boolean;
  /** The id of our session with the server, if it has sessions. */
  readonly sessionId: string | undefined;
}

/** The server is not available. `unreachable`: the request was not sent. `lost`: it may have arrived, but has no response. */
export class ServerUnavailable extends Error {
  readonly kind: 'unreachable' | 'lost';
  readonly failure: ServerFailureKind | undefined;

  constructor(kind: ServerUnavailable['kind'], cause: unknown) {
    super(messageOf(cause), { cause });
    this.kind = kind;
    this.failure = failureKindOf(cause);
  }
}

/** Repeats work that failed because the server was not available, until it is back or has been away too long. */
export async function retryThroughDisconnects<T>(
  channel: CallChannel,
  signal: StopSignal,
  work: () => Promise<T>,
  kinds: readonly ServerUnavailable['kind'][] = ['unreachable', 'lost'],
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const mayReturn = error instanceof ServerUnavailable && kinds.includes(error.kind) && !channel.closed;
      // A server that waits for a sign-in does not come back on its own.
      if (!mayReturn || attempt > channel.reconnect.attempts || signInIn(error) !== undefined) throw error;
    }
    await pause(channel.clock, backoffDelay(attempt, channel.reconnect), signal);
  }
}

/** The outcome of a call that threw. */
export function failure(error: unknown): Exclude<CallOutcome, { kind: 'result' }> {
  const signIn = signInIn(error);
  if (signIn !== undefined) return { kind: 'unreachable', reason: messageOf(error), failure: 'sign_in', signIn };
  if (error instanceof ServerUnavailable) {
    const { kind, message: reason, failure } = error;
    return { kind, reason, ...(failure && { failure }) };
  }
  if (error instanceof ProtocolViolation) return { kind: 'error', error: { code: -32000, message: error.message } };
  if (error instanceof ErrorResponse) return { kind: 'error', error: rpcFailure(error) };
  if (error instanceof RpcError) return { kind: 'error', error: rpcFailure(error) };
  return { kind: 'error', error: { code: -32603, message: messageOf(error) } };
}

export function isTimeout(error: unknown): boolean {
  return error instanceof RequestTimeout;
}

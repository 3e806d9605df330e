import type { CallOutcome } from '../core/ports/connection.ts';
import { unlessAborted, type StopSignal } from '../lib/abort.ts';
import { failureKindOf, type ServerFailureKind } from '../lib/server-failure.ts';
import { failure } from '../south/call/channel.ts';

/** Why there is no result. `refused`: the client did not send the request; the message says what to do instead. */
export type FailureKind = 'error' | 'unreachable' | 'lost' | 'cancelled' | 'refused';

interface ErrorDetails {
  code?: number | undefined;
  data?: unknown;
  failure?: ServerFailureKind | undefined;
  cause?: unknown;
}

export class TaskClientError extends Error {
  override readonly name = 'TaskClientError';
  readonly kind: FailureKind;
  /** The JSON-RPC code, where the server answered with an error. */
  declare readonly code?: number;
  declare readonly data?: unknown;

  /** Why the server could not be used, where that is known. */
  declare readonly failure?: ServerFailureKind;

  constructor(kind: FailureKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    if (details.failure !== undefined) this.failure = details.failure;
    if (details.code !== undefined) this.code = details.code;
    if (details.data !== undefined) this.data = details.data;
  }
}

/** The error of a request that belongs to no call. */
export function requestError(thrown: unknown, signal: StopSignal | undefined): TaskClientError {
  if (thrown instanceof TaskClientError) return thrown;
  if (signal?.aborted) return new TaskClientError('cancelled', 'the request was cancelled');
  const outcome = failure(thrown);
  if (outcome.kind !== 'error') return errorFrom(outcome);
  return new TaskClientError('error', outcome.error.message, { ...outcome.error, failure: failureKindOf(thrown) });
}

export function errorFrom(outcome: Exclude<CallOutcome, { kind: 'result' }> | TaskClientError): TaskClientError {
  if (outcome instanceof TaskClientError) return outcome;
  switch (outcome.kind) {
    case 'error':
      return new TaskClientError('error', outcome.error.message, outcome.error);
    case 'cancelled':
      return new TaskClientError('cancelled', outcome.reason);
    case 'unreachable':
    case 'lost':
      return new TaskClientError(outcome.kind, outcome.reason, { failure: outcome.failure });
  }
}

/** Converts errors to `TaskClientError`. */
export async function asTold<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw requestError(error, undefined);
  });
}

/** The value of the promise; rejects when the signal is aborted. */
export async function unlessCancelled<T>(signal: StopSignal | undefined, promise: Promise<T>): Promise<T> {
  return unlessAborted(promise, signal, () => new TaskClientError('cancelled', 'the caller stopped waiting'));
}

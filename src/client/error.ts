import type { CallOutcome } from '../core/ports.ts';

/** Why there is no result. `refused`: the client itself did not send the request, and says what to do instead. */
export type FailureKind = 'error' | 'unreachable' | 'lost' | 'cancelled' | 'refused';

export class TaskClientError extends Error {
  override readonly name = 'TaskClientError';
  readonly kind: FailureKind;
  /** The JSON-RPC code, where the server answered with an error. */
  readonly code?: number;
  readonly data?: unknown;

  constructor(kind: FailureKind, message: string, details: { code?: number; data?: unknown } = {}) {
    super(message);
    this.kind = kind;
    if (details.code !== undefined) this.code = details.code;
    if (details.data !== undefined) this.data = details.data;
  }
}

export function errorFrom(outcome: Exclude<CallOutcome, { kind: 'result' }>): TaskClientError {
  switch (outcome.kind) {
    case 'error':
      return new TaskClientError('error', outcome.error.message, outcome.error);
    case 'cancelled':
    case 'unreachable':
    case 'lost':
      return new TaskClientError(outcome.kind, outcome.reason);
  }
}

import { roughSize } from '../../lib/rough-size.ts';
import { shortenText } from '../../lib/shorten.ts';
import { GatewayError } from '../errors.ts';
import type { CallOutcome } from '../ports/connection.ts';
import type { TaskError, TaskEvent } from '../task/task.ts';
import type { CallReply, CallRequest } from './request.ts';

/** The reply for a call that has ended before it became a task. */
export function replyFor(request: CallRequest, outcome: CallOutcome): CallReply {
  if (outcome.kind === 'result') return { kind: 'result', result: outcome.result };
  return { kind: 'failed', error: errorFor(request, outcome), outcome };
}

function errorFor({ server, tool }: CallRequest, outcome: Exclude<CallOutcome, { kind: 'result' }>): GatewayError {
  const about = { server, tool };
  switch (outcome.kind) {
    case 'unreachable': {
      const message = `server '${server}' cannot be reached: ${outcome.reason}`;
      return new GatewayError('TOOL_ERR_SERVER_DISCONNECTED', message, about, outcome.failure);
    }
    case 'lost': {
      const message = `server '${server}' disconnected during the call: ${outcome.reason}; try again`;
      return new GatewayError('TOOL_ERR_SERVER_DISCONNECTED', message, about);
    }
    case 'cancelled': {
      const message = `server '${server}' cancelled '${tool}': ${outcome.reason}`;
      return new GatewayError('TOOL_ERR_EXECUTION_FAILED', message, about);
    }
    case 'error': {
      const message = `server '${server}' returned an error for '${tool}': ${outcome.error.message}`;
      return new GatewayError('TOOL_ERR_EXECUTION_FAILED', message, { ...about, error: outcome.error });
    }
  }
}

/** The task event for the outcome of its call. */
export function taskEnd(outcome: CallOutcome): TaskEvent {
  switch (outcome.kind) {
    case 'result':
      return { type: 'complete', result: outcome.result };
    case 'error':
      return { type: 'fail', error: outcome.error };
    case 'cancelled':
      return { type: 'cancel', reason: `by the server: ${outcome.reason}` };
    case 'unreachable':
    case 'lost':
      return { type: 'fail', error: { code: -32000, message: outcome.reason } };
  }
}

/** Replaces a result that is too large by an error, and shortens an error that is too large. */
export function withinLimit(outcome: CallOutcome, resultBytes: number): CallOutcome {
  if (outcome.kind === 'error') return { kind: 'error', error: shortError(outcome.error) };
  if (outcome.kind !== 'result') return { ...outcome, reason: shortenText(outcome.reason) };
  const bytes = roughSize(outcome.result, resultBytes);
  if (bytes <= resultBytes) return outcome;
  const message = `the result is larger than limits.resultBytes = ${resultBytes}; raise the limit to receive such results`;
  return { kind: 'error', error: { code: -32000, message } };
}

const MAX_ERROR_BYTES = 65_536;

function shortError(error: TaskError): TaskError {
  if (roughSize(error, MAX_ERROR_BYTES) <= MAX_ERROR_BYTES) return error;
  return { code: error.code, message: shortenText(error.message) };
}

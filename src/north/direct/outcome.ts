import type { CallReply } from '../../core/call/request.ts';
import { failureOfGateway, GatewayError, shuttingDown } from '../../core/errors.ts';
import type { Session } from '../../core/session/session.ts';
import type { CallResult, Task } from '../../core/task/task.ts';
import { messageOf } from '../../lib/log.ts';
import { hasRpcCode, RpcError, type RpcFailure } from '../../lib/rpc-error.ts';
import { ReportedError } from '../commit-gate.ts';

/** The server's result of an ended task; throws the server's error if there is one. */
export function resultOf(task: Task): CallResult {
  switch (task.status) {
    case 'completed':
      return withoutResultType(task.result);
    case 'cancelled':
      throw new ReportedError(-32000, `the call was cancelled: ${task.statusMessage ?? 'no reason was given'}`);
    case 'failed':
    case 'expired':
      throw ReportedError.passedOn(task.error);
    case 'working':
    case 'input_required':
      // Only the end of the session cuts the wait for the end of a task short.
      throw fromGateway(shuttingDown());
  }
}

/** The same for a call that never became a task. */
export function errorOf({ outcome, error }: Extract<CallReply, { kind: 'failed' }>): RpcError {
  if (outcome.kind === 'error') return RpcError.passedOn(outcome.error);
  return fromGateway(error);
}

/** An error as it leaves: errors of the server as they came, ours with the code of the table. */
export function wireError(label: string, error: unknown, session?: Session): Error & RpcFailure {
  if (error instanceof GatewayError) return fromGateway(error);
  if (hasRpcCode(error)) return error;
  if (session?.ended) return fromGateway(shuttingDown());
  return new RpcError(-32000, `${label} did not answer: ${messageOf(error)}`);
}

function fromGateway(error: GatewayError): RpcError {
  const { code, message, data } = failureOfGateway(error);
  return new RpcError(code, message, data);
}

/** `resultType` exists only in the newer protocol, whose endpoints add it again. */
export function withoutResultType(result: Record<string, unknown>): CallResult {
  if (!('resultType' in result)) return result;
  const { resultType: _resultType, ...rest } = result;
  return rest;
}

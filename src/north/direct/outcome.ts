import type { CallReply } from '../../core/call/request.ts';
import { failureOfGateway, GatewayError, shuttingDown } from '../../core/errors.ts';
import type { Session } from '../../core/session/session.ts';
import type { CallResult, Task } from '../../core/task/task.ts';
import { messageFor } from '../../core/sign-in/sign-in-gate.ts';
import type { NeededSignIn } from '../../core/ports/accounts.ts';
import { signInIn } from '../../core/sign-in/required.ts';
import { messageOf } from '../../lib/log.ts';
import { hasRpcCode, RpcError, URL_ELICITATION_REQUIRED, type RpcFailure } from '../../lib/rpc-error.ts';
import { canBeAsked } from '../asking/asking.ts';
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
      throw leftRunning(task);
  }
}

/** Only the end of the session interrupts the wait for a call. Repeating the call would duplicate its work. */
export function leftRunning({ id, server, tool }: Task): RpcError {
  const message = `the gateway is shutting down; the call continues as task ${id}: do not repeat it`;
  return fromGateway(new GatewayError('TOOL_ERR_SHUTTING_DOWN', message, { server, tool, task: id }));
}

/** The same for a call that never became a task. */
export function errorOf({ outcome, error }: Extract<CallReply, { kind: 'failed' }>): RpcError {
  if (outcome.kind === 'error') return RpcError.passedOn(outcome.error);
  return fromGateway(error);
}

/** The error of the reply: server errors unchanged, ours with the code of the table. */
export function wireError(label: string, error: unknown, session?: Session): Error & RpcFailure {
  if (error instanceof GatewayError) return fromGateway(error);
  if (hasRpcCode(error)) return error;
  if (session?.ended) return fromGateway(shuttingDown());
  const signIn = signInIn(error);
  if (signIn !== undefined) return signInError(label, signIn, messageOf(error), session);
  return new RpcError(-32000, `${label} did not answer: ${messageOf(error)}`);
}

function fromGateway(error: GatewayError): RpcError {
  const { code, message, data } = failureOfGateway(error);
  return new RpcError(code, message, data);
}

/** Only calls wait for a sign-in. A client that can open pages gets the link in its protocol's form. */
function signInError(label: string, signIn: NeededSignIn, reason: string, session: Session | undefined): RpcError {
  const { id: elicitationId, url } = signIn;
  const params = { mode: 'url', elicitationId, url, message: messageFor(signIn) };
  const message = `${label} cannot be used yet: ${reason}`;
  const asked = canBeAsked(session?.client?.capabilities ?? {}, { kind: 'elicitation', params });
  if (session === undefined || url === undefined || !asked) {
    return fromGateway(new GatewayError('TOOL_ERR_SERVER_UNREACHABLE', message, { server: signIn.server, url }));
  }
  session.connections.signInShown(signIn);
  return new RpcError(URL_ELICITATION_REQUIRED, message, { elicitations: [params] });
}

/** `resultType` exists only in the newer protocol, whose endpoints add it again. */
export function withoutResultType(result: Record<string, unknown>): CallResult {
  if (!('resultType' in result)) return result;
  const { resultType: _resultType, ...rest } = result;
  return rest;
}

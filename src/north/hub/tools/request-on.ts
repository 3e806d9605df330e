import { GatewayError } from '../../../core/errors.ts';
import type { Connection } from '../../../core/ports/connection.ts';
import { messageOf } from '../../../lib/log.ts';
import { hasRpcCode, rpcFailure } from '../../../lib/rpc-error.ts';
import { failureKindOf } from '../../../lib/server-failure.ts';
import { timeoutSignal } from '../../../lib/timers.ts';
import { withTraceContext } from '../../../lib/trace-context.ts';
import type { ToolContext } from '../tool.ts';

/** One request to a server that is not a tool call. */
export async function requestOn(
  context: ToolContext,
  server: string,
  method: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const sent = withTraceContext(params, context.trace);
  return onServer(context, server, method, async (connection, signal) => connection.request(method, sent, signal));
}

/** Runs a server request until `calls.timeoutMs` passes or the client leaves for good. */
export async function onServer<T>(
  { session, exchange, gateway }: ToolContext,
  server: string,
  what: string,
  work: (connection: Connection, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const connection = session.connection(server);
  session.interactions.serverUsed(server);
  const { timeoutMs } = gateway.settings.calls;
  const late = timeoutSignal(timeoutMs, session.clock);
  const signal = AbortSignal.any([exchange.lostSignal(), late.signal]);
  try {
    return await session.asCall(async () => work(connection, signal));
  } catch (error) {
    if (late.signal.aborted) {
      throw new GatewayError('TOOL_ERR_TIMEOUT', `server '${server}' did not answer ${what} within ${timeoutMs} ms`);
    }
    throw failureOn(connection, server, what, error);
  } finally {
    late.cancel();
  }
}

/** The error for a failed request: the server is not connected, or it answered with an error. */
export function failureOn(connection: Connection, server: string, what: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const message = messageOf(error);
  if (connection.status.state !== 'connected') {
    const away = `server '${server}' is not connected: ${message}`;
    return new GatewayError('TOOL_ERR_SERVER_DISCONNECTED', away, undefined, failureKindOf(error));
  }
  const details = { server, ...(hasRpcCode(error) && { error: rpcFailure(error) }) };
  const refused = `server '${server}' answered ${what} with an error: ${message}`;
  return new GatewayError('TOOL_ERR_EXECUTION_FAILED', refused, details);
}

import { GatewayError } from '../../../core/errors.ts';
import type { Connection } from '../../../core/ports.ts';
import { messageOf } from '../../../lib/log.ts';
import type { ToolContext } from '../tool.ts';

/** One request to a server that is not a tool call: bounded by the call time-out, ended when the client leaves for good. */
export async function requestOn(
  { session, exchange, gateway }: ToolContext,
  server: string,
  method: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const connection = session.connection(server);
  const { timeoutMs } = gateway.settings.calls;
  const tooLate = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([exchange.lostSignal(), tooLate]);
  try {
    return await connection.request(method, params, signal);
  } catch (error) {
    if (tooLate.aborted) {
      throw new GatewayError('TOOL_ERR_TIMEOUT', `server '${server}' did not answer ${method} within ${timeoutMs} ms`);
    }
    throw failureOn(connection, server, method, error);
  }
}

/** Why a server did not do what it was asked for: it is not there, or it answered with an error. */
export function failureOn(connection: Connection, server: string, what: string, error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const message = messageOf(error);
  if (connection.status.state !== 'connected') {
    return new GatewayError('TOOL_ERR_SERVER_DISCONNECTED', `server '${server}' is not there: ${message}`);
  }
  const { code, data } = error instanceof Error ? (error as Error & { code?: unknown; data?: unknown }) : {};
  const told = typeof code === 'number' && { error: { code, message, ...(data !== undefined && { data }) } };
  return new GatewayError('TOOL_ERR_EXECUTION_FAILED', `server '${server}' answered ${what} with: ${message}`, {
    server,
    ...told,
  });
}

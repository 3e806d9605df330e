import { GatewayError } from '../../../core/errors.ts';
import { messageOf } from '../../../lib/log.ts';
import type { ToolContext } from '../tool.ts';
import { whileWaiting } from '../waiting.ts';

/** One request to a server that is not a tool call: bounded by the call time-out, ended when the client leaves. */
export async function requestOn(
  { session, exchange, gateway }: ToolContext,
  server: string,
  method: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const connection = session.connection(server);
  const { timeoutMs } = gateway.settings.calls;
  const tooLate = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([exchange.gone, exchange.cancelled, tooLate]);
  try {
    return await whileWaiting(exchange, `${method} is at work`, () => connection.request(method, params, signal));
  } catch (error) {
    if (tooLate.aborted) {
      throw new GatewayError('TOOL_ERR_TIMEOUT', `server '${server}' did not answer ${method} within ${timeoutMs} ms`);
    }
    if (connection.status.state !== 'connected') {
      throw new GatewayError('TOOL_ERR_SERVER_DISCONNECTED', `server '${server}' is not there: ${messageOf(error)}`);
    }
    throw new GatewayError(
      'TOOL_ERR_EXECUTION_FAILED',
      `server '${server}' answered ${method} with: ${messageOf(error)}`,
    );
  }
}

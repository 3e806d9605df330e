import { GatewayError } from '../../core/errors.ts';
import type { Connection, ServerInfo } from '../../core/ports.ts';
import { messageOf } from '../../lib/log.ts';

/** What the server behind the endpoint tells of itself; that it is away is said in our words. */
export async function reached(server: string, connection: Connection): Promise<ServerInfo> {
  return connection.ready().catch((error: unknown) => {
    const message = `server '${server}' cannot be reached: ${messageOf(error)}`;
    throw new GatewayError('TOOL_ERR_SERVER_UNREACHABLE', message);
  });
}

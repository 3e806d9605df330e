import type { Connection } from '../../core/ports/connection.ts';
import { secretId } from '../../lib/ids.ts';

/** Sets the log level of a server that has one for all requests. */
export async function setLogLevel(connection: Connection, level: string): Promise<void> {
  await connection.relay({
    id: secretId(),
    method: 'logging/setLevel',
    params: { level },
    signal: new AbortController().signal,
    onProgress: () => {},
    rounds: 'return',
  });
}

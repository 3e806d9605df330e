/** Driver connections that fall back to another host or TLS mode. */

import type { Duplex } from 'node:stream';
import { codeOf } from '../../lib/log.ts';
import type { PostgresClient, Row } from './driver.ts';
import type { SqlValue } from '../sql-value.ts';
import { READ_ONLY } from './failure.ts';
import type { HostRoute } from './route.ts';
import { failedSocket, withCode } from './socket.ts';

/** `pg_hba.conf` has no entry for such connections. */
const REFUSED = '28000';
/** The driver ends a connection if the host does not match `target_session_attrs`. */
const NOT_WANTED = 'CONNECTION_DESTROYED';

export class RoutedClient implements PostgresClient {
  readonly #client: PostgresClient;
  readonly #route: HostRoute;
  readonly #ended = new AbortController();
  #isEnding = false;
  #isSecond = false;

  constructor(route: HostRoute, connect: (socket: () => Promise<Duplex>) => PostgresClient) {
    this.#route = route;
    this.#client = connect(async () => this.#open());
  }

  async #open(): Promise<Duplex> {
    try {
      return await this.#route.open({ isSecond: this.#isSecond, signal: this.#ended.signal });
    } catch (error) {
      return failedSocket(error);
    }
  }

  /** A statement is retried only if its connection was not ready yet. */
  async unsafe(sql: string, values?: SqlValue[], options?: { prepare?: boolean }): Promise<Row[]> {
    let refusal: unknown;
    for (let left = this.#route.hosts; ;) {
      const { host } = this.#route;
      try {
        return await this.#client.unsafe(sql, values, options);
      } catch (error) {
        const code = codeOf(error);
        if (this.#isEnding) throw error;
        if (code === REFUSED && refusal === undefined && this.#route.hasSecond) {
          refusal = error;
          this.#isSecond = true;
          continue;
        }
        // Plaintext was only the fallback.
        if (code === REFUSED && this.#route.prefersTls) throw refusal;
        if (code === NOT_WANTED || code === READ_ONLY) this.#route.leave(host);
        if (code !== NOT_WANTED) throw error;
        left -= 1;
        if (left === 0) throw withCode('NO_SUCH_HOST', 'no host of the URL matches target_session_attrs');
      }
    }
  }

  async end(options: { timeout: number }): Promise<void> {
    this.#isEnding = true;
    await this.#client.end(options);
    // Also connections that are being opened, which the driver does not know.
    this.#ended.abort();
  }
}

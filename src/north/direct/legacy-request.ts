import type { ProgressToken, RequestId, Server, ServerContext } from '@modelcontextprotocol/server';
import type { Gateway } from '../../core/gateway.ts';
import type { Progress, ServerInfo } from '../../core/ports.ts';
import type { Session } from '../../core/session/session.ts';
import { ANY_RESULT } from '../../lib/sdk/any-result.ts';
import type { Carrier } from '../carrier.ts';
import type { Exchange } from '../exchange.ts';
import type { Clock } from '../../lib/clock.ts';
import { every } from '../../lib/timers.ts';
import { whileWaiting } from '../waiting.ts';

export type Params = Record<string, unknown>;

/** How often a client that asked for no progress is pinged while it waits, so that no proxy closes the stream. */
const PING_MS = 10_000;

/** Sends notifications: on the stream of a request that is open, or on the standing stream. */
interface Wire {
  send(
    message: { jsonrpc: '2.0'; method: string; params?: Params },
    options?: { relatedRequestId?: RequestId },
  ): Promise<void>;
  /** Whether a message without a request would reach the client now. */
  reaches(): boolean;
}

export interface LegacyViewParts {
  gateway: Gateway;
  session: Session;
  /** The server that is shown. */
  name: string;
  /** What the server said of itself; absent for a session of an earlier run, whose client knows it already. */
  info?: ServerInfo | undefined;
  carrier: Carrier & Wire;
  /** There is no hub at which others could answer questions that this client cannot be asked. */
  alone?: boolean;
}

/** One request of a client with a session. */
export class LegacyRequest {
  /** The client's id of the request, which also names the stream on which the client waits. */
  readonly id: RequestId;
  readonly signal: AbortSignal;
  readonly progressToken: ProgressToken | undefined;
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly #server: Server;

  constructor(server: Server, { id, signal, _meta }: ServerContext['mcpReq'], exchange: Exchange, clock: Clock) {
    this.id = id;
    this.signal = signal;
    this.progressToken = _meta?.progressToken;
    this.exchange = exchange;
    this.clock = clock;
    this.#server = server;
  }

  /** Runs something that may take long while the client waits, with progress or pings. */
  async waiting<T>(
    what: string,
    work: Parameters<typeof whileWaiting<T>>[2],
    marked?: (progress: Progress) => Progress,
  ): Promise<T> {
    const { exchange } = this;
    if (exchange.progress !== undefined) return whileWaiting(this, what, work, marked);
    const ping = (): void => {
      if (!exchange.reaches) return;
      // A client that answers no pings may still be waiting.
      this.#server
        .request({ method: 'ping' }, ANY_RESULT, { relatedRequestId: this.id, timeout: PING_MS })
        .catch(() => {});
    };
    const stop = every(PING_MS, ping, this.clock);
    try {
      return await work(() => {});
    } finally {
      stop();
    }
  }
}

/** Sends a notification, on the stream of one of the client's requests if it belongs there. */
export function tellClient(
  { carrier, gateway }: { carrier: Wire; gateway: Gateway },
  method: string,
  params: Params | undefined,
  relatedRequestId?: RequestId,
): void {
  carrier
    .send(
      { jsonrpc: '2.0', method, ...(params && { params }) },
      relatedRequestId === undefined ? {} : { relatedRequestId },
    )
    .catch((error: unknown) => {
      gateway.log.debug('notification_not_sent', { method, error: String(error) });
    });
}

import type { Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import type { AddressCheck } from '../../lib/addresses.ts';
import { checkedLookup } from './checked-address.ts';

/**
 * Servers close idle connections, many after five seconds, and for a request on a connection that is just being closed it is
 * not known whether it arrived. So a connection that was idle for nearly as long is not used again.
 */
const MAX_IDLE_MS = 4000;

/** The parts of undici that connections need. */
export type Undici = Awaited<ReturnType<typeof loadUndici>>;

/** Only these parts: all of undici takes several times as long to load. */
export async function loadUndici() {
  const [client, connect] = await Promise.all([
    import('undici/lib/dispatcher/client.js'),
    import('undici/lib/core/connect.js'),
  ]);
  return { Client: client.default, buildConnector: connect.default };
}

type Connector = ReturnType<Undici['buildConnector']>;

const shared = new Map<string, HttpConnections>();

/**
 * The connections to an origin that all sessions use: a request says everything that the server has to know, so 10,000
 * sessions need no connections of their own for their pings. Where addresses are checked, each user has its own.
 */
export function sharedConnections(
  undici: Undici,
  origin: string,
  isAllowed: AddressCheck | undefined,
): HttpConnections {
  if (isAllowed) return new HttpConnections(undici, origin, isAllowed);
  const known = shared.get(origin);
  if (known) {
    known.users += 1;
    return known;
  }
  const connections = new HttpConnections(undici, origin);
  shared.set(origin, connections);
  return connections;
}

/** Connections to one origin, each for one request at a time. Those that are idle for long go. */
export class HttpConnections {
  users = 1;
  readonly #undici: Undici;
  readonly #origin: string;
  readonly #connector: Connector;
  /** The longest idle one comes first. */
  readonly #idle: HttpConnection[] = [];

  constructor(undici: Undici, origin: string, isAllowed?: AddressCheck) {
    this.#undici = undici;
    this.#origin = origin;
    this.#connector = undici.buildConnector({ timeout: 0, ...(isAllowed && { lookup: checkedLookup(isAllowed) }) });
  }

  /** A connection that no request uses. */
  take(): HttpConnection {
    return this.#idle.pop() ?? this.#connect();
  }

  /** Its request has been answered completely. A server may answer before it has read the request: no other waits for that. */
  giveBack(connection: HttpConnection): void {
    if (this.users === 0 || connection.isWriting) connection.destroy();
    if (!connection.client.destroyed) this.#idle.push(connection);
  }

  /** One user needs them no longer; without users, the idle ones go. */
  release(): void {
    this.users -= 1;
    if (this.users > 0) return;
    if (shared.get(this.#origin) === this) shared.delete(this.#origin);
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  #connect(): HttpConnection {
    const connection = new HttpConnection(this.#undici, this.#origin, this.#connector);
    // A client takes as much memory without a connection as with one.
    connection.client.on('disconnect', () => {
      const index = this.#idle.indexOf(connection);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    return connection;
  }
}

export class HttpConnection {
  readonly client: Client;
  /** Once it has begun to connect. */
  #socket: Socket | undefined;
  #connected = false;

  constructor({ Client }: Undici, origin: string, connector: Connector) {
    this.client = new Client(origin, {
      pipelining: 1,
      // A call may take arbitrarily long, and a stream may be silent.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: MAX_IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      connect: (options, callback) => {
        this.#connected = false;
        // Contrary to its type, it returns the socket.
        this.#socket = connector(options, (...outcome) => {
          this.#connected = true;
          callback(...outcome);
        }) as unknown as Socket;
      },
    });
  }

  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.client.dispatch(request, handler);
  }

  /** Whether a part of a request has not left yet. */
  get isWriting(): boolean {
    return this.#socket !== undefined && this.#socket.writableLength > 0;
  }

  destroy(): void {
    void this.client.destroy();
    // The client would wait for it.
    if (!this.#connected) this.#socket?.destroy();
  }
}

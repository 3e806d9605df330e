import type { LookupFunction, Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import { loadOnce } from './load-once.ts';

/**
 * Servers close idle connections, many after five seconds, and for a request on a connection that is being closed it is
 * unknown whether it arrived. So a connection that was idle for nearly as long is not reused.
 */
const MAX_IDLE_MS = 4000;

/** The parts of undici that connections need. */
export type Undici = Awaited<ReturnType<typeof loadUndici>>;

/** Only these parts: all of undici takes several times as long to load. */
export const loadUndici = loadOnce(async () => {
  const [client, connect] = await Promise.all([
    import('undici/lib/dispatcher/client.js'),
    import('undici/lib/core/connect.js'),
  ]);
  const { default: buildConnector } = connect;
  // One connector for all servers that need no other: each has a cache of TLS sessions.
  return { Client: client.default, buildConnector, connector: buildConnector({ timeout: 0 }) };
});

type Connector = Undici['connector'];

export interface ConnectionOptions {
  /** Resolves the host name. */
  lookup?: LookupFunction;
  /** How long connecting may take; by default without limit. */
  connectTimeoutMs?: number;
  /** How long a connection may be idle. */
  idleMs?: number;
  /** Called when the last user needs them no longer. */
  onUnused?: () => void;
}

/** Connections to one origin, each for one request at a time. Idle connections are closed. */
export class HttpConnections {
  users = 1;
  readonly #undici: Undici;
  readonly #origin: string;
  readonly #connector: Connector;
  readonly #idleMs: number;
  readonly #onUnused: (() => void) | undefined;
  /** The longest idle one comes first. */
  readonly #idle: HttpConnection[] = [];

  constructor(undici: Undici, origin: string, options: ConnectionOptions = {}) {
    const { lookup, connectTimeoutMs: timeout = 0, idleMs = MAX_IDLE_MS, onUnused } = options;
    this.#undici = undici;
    this.#origin = origin;
    const isPlain = lookup === undefined && timeout === 0;
    this.#connector = isPlain ? undici.connector : undici.buildConnector({ timeout, ...(lookup && { lookup }) });
    this.#idleMs = idleMs;
    this.#onUnused = onUnused;
  }

  /** A connection that no request uses. */
  take(): HttpConnection {
    return this.#idle.pop() ?? this.#connect();
  }

  /**
   * Its request has been answered completely. A paused connection is resumed. If the server answered before reading the whole
   * request, the connection is not reused.
   */
  giveBack(connection: HttpConnection): void {
    if (this.users === 0 || connection.isWriting) {
      connection.destroy();
      return;
    }
    connection.resume();
    if (!connection.client.destroyed) this.#idle.push(connection);
  }

  /** A user no longer needs them; without users, idle connections are closed. */
  release(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.#onUnused?.();
    this.closeIdle();
  }

  closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  #connect(): HttpConnection {
    const connection = new HttpConnection(this.#undici, this.#origin, this.#connector, this.#idleMs);
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

  constructor({ Client }: Undici, origin: string, connector: Connector, idleMs: number) {
    this.client = new Client(origin, {
      pipelining: 1,
      // A call may take arbitrarily long, and a stream may be silent.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
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

  /**
   * Stops reading, so that the server has to wait. The socket then seems to have nothing to read: if a connection that is not kept
   * alive ends after undici's own `pause()`, an assertion of undici 7 crashes the process (nodejs/undici#5360, fixed in undici 8).
   */
  pause(): void {
    if (this.#socket !== undefined) this.#socket.read = () => null;
  }

  resume(): void {
    const socket = this.#socket;
    if (socket === undefined || !this.isPaused) return;
    Reflect.deleteProperty(socket, 'read');
    // Not at once: undici may be parsing a piece, or a new reader may still have to take pieces that arrived before it.
    process.nextTick(() => {
      if (!socket.destroyed) socket.emit('readable');
    });
  }

  get isPaused(): boolean {
    return this.#socket !== undefined && Object.hasOwn(this.#socket, 'read');
  }

  /** Whether part of a request is still unsent. */
  get isWriting(): boolean {
    return this.#socket !== undefined && this.#socket.writableLength > 0;
  }

  destroy(): void {
    void this.client.destroy();
    // The client would wait for it.
    if (!this.#connected) this.#socket?.destroy();
  }
}

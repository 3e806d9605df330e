/** Sockets for the driver, with failures in a form that it notices. */

import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { within } from '../../lib/timers.ts';
import { shown, type Host } from './address.ts';

export const withCode = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** Connects and prepares the socket, each within the time limit. */
export async function openSocket(
  host: Host,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  andThen: (socket: Socket) => Promise<Socket>,
): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ ...host });
  failWhenClosed(socket);
  // With TLS, this becomes the TLS socket. If the one below it were destroyed, it would report errors after `close`, when the
  // driver has removed its listeners.
  let outermost = socket;
  const stop = (): void => void outermost.destroy();
  signal.addEventListener('abort', stop);
  socket.once('close', () => signal.removeEventListener('abort', stop));
  try {
    const opened = await within(
      timeoutMs,
      reached(socket, 'connect').then(async () => andThen(socket)),
    );
    if (!opened)
      throw withCode('CONNECT_TIMEOUT', `no connection to ${shown(host)} within ${timeoutMs / 1000} seconds`);
    signal.throwIfAborted();
    outermost = opened;
    return opened;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/**
 * Reports the loss of a connection in the form that the driver handles: as an error, at the same moment as the end. Without an
 * error it would reconnect immediately and forever if the connection was not ready yet, as with a balancer that has no server
 * behind it. It would also lose a statement that it starts between the error and the end.
 */
export function failWhenClosed(socket: Socket): void {
  const lost = withCode('CONNECTION_CLOSED', 'the connection was closed');
  socket.once('close', () => socket.emit('error', lost));
  // The user of the socket adds its own listener.
  socket.on('error', () => {});
}

/** Fails if the socket does; for that it must be one of those above. */
export async function reached(socket: Socket, event: string): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    socket.once(event, (...values: unknown[]) => resolve(values));
    socket.once('error', reject);
  });
}

/**
 * A connection that could not be opened: fails when the driver writes the first message. If it had none, the driver would not use
 * that place for a connection again.
 */
export function failedSocket(error: unknown): Duplex {
  return new Duplex({
    read: () => {},
    write: (_chunk, _encoding, done) => done(error instanceof Error ? error : new Error(String(error))),
  });
}

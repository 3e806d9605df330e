/** A wire between a client and the gateway that can be broken, and holds again at once. The test owns it. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { defer } from '../../../support/owned.ts';

export interface Breakable {
  url: string;
  breakAll(): void;
  /** How many streams have begun that the client can come back to. */
  begun(): number;
}

export async function breakable(url: string): Promise<Breakable> {
  const { port, pathname } = new URL(url);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    // Whoever is at its other end hears of it.
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  let said = '';
  const server = createServer((near) => {
    const far = keep(connect(Number(port), '127.0.0.1'));
    keep(near).pipe(far).pipe(near);
    far.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1');
    });
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  defer(async () => {
    breakAll();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    breakAll,
    begun: () => said.split('\nretry: ').length - 1,
  };
}

import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { defer } from '../../support/owned.ts';

/** A wire that can be cut and mended while the server behind it goes on. */
export async function wireTo(
  target: number,
): Promise<{ port: number; cut: () => Promise<void>; mend: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {
        // 'close' follows.
      });
      socket.once('close', () => {
        sockets.delete(socket);
        (socket === near ? far : near).destroy();
      });
    }
    near.pipe(far);
    far.pipe(near);
  });
  const mend = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    await new Promise((resolve) => server.close(resolve));
  };
  await mend(0);
  const { port } = server.address() as AddressInfo;
  defer(cut);
  return { port, cut, mend: () => mend(port) };
}

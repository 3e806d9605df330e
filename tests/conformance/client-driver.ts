/**
 * Does what the conformance suite wants of a client, for `client-command.mjs`, which the suite starts. What happens then is
 * judged by the suite; here only that nothing failed.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../src/lib/log.ts';
import { authFor } from './driver/auth.ts';
import { direct } from './driver/direct.ts';
import { scenario } from './driver/scenarios.ts';
import { throughGateway } from './driver/through-gateway.ts';
import type { Json, Way } from './driver/way.ts';

/** Our client alone, or the gateway with a plain client in front of it. */
export type Through = 'client' | 'gateway';

export interface Driver {
  /** What the suite has to start. */
  command: string;
  close(): Promise<void>;
}

interface Wanted {
  /** The suite's server. */
  url: string;
  /** Of the scenario. */
  name: string;
  context: Json;
}

const COMMAND = fileURLToPath(new URL('client-command.mjs', import.meta.url));

export async function openDriver(through: Through): Promise<Driver> {
  const server = createServer((socket) => void serve(socket, through));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    command: `"${process.execPath}" "${COMMAND}" ${port}`,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Replies with a complaint, if there is one. */
async function serve(socket: Socket, through: Through): Promise<void> {
  const left = once(socket, 'close').then(() => {
    throw new Error('the suite did not wait for the end');
  });
  left.catch(() => {});
  let complaint: string | null = null;
  try {
    const [line] = (await once(createInterface({ input: socket }), 'line')) as [string];
    await drive(JSON.parse(line) as Wanted, through, left);
  } catch (error) {
    complaint = messageOf(error);
  }
  socket.end(JSON.stringify({ complaint }));
}

async function drive({ url, name, context }: Wanted, through: Through, left: Promise<never>): Promise<void> {
  const { run, beforeAnswer } = scenario(name);
  const hook = async (): Promise<unknown> => beforeAnswer?.(way);
  const auth = authFor(name, context);
  const way: Way = through === 'gateway' ? await throughGateway(url, hook, auth) : await direct(url, hook, auth);
  try {
    await Promise.race([run(way, context), left]);
  } finally {
    await way.close();
  }
}

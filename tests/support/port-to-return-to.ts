import { createServer } from 'node:net';

/** Each process has ports of its own: two tests at a time would sooner or later choose the same one. */
const LOWEST = 20_000;
const PORTS = 500;
const RANGES = 24;
const first = (await claimRange()) + 1;
let last = Math.floor(Math.random() * (PORTS - 1));

/** A process has a range as long as it listens on its first port. The numbers that vitest gives to its workers are not always distinct. */
async function claimRange(): Promise<number> {
  for (let port = LOWEST; port < LOWEST + RANGES * PORTS; port += PORTS) {
    const guard = createServer().unref();
    const isClaimed = await new Promise((resolve) => {
      guard.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (isClaimed) return port;
  }
  throw new Error(`all ranges of ports from ${LOWEST} on are in use; end other runs of the tests`);
}

/**
 * A port for what will be stopped and started again on the same one: below those that systems give to outgoing
 * connections and to whoever binds port 0, so that none of these takes it in between. It may be in use.
 */
export function portToReturnTo(): number {
  last = (last + 1) % (PORTS - 1);
  return first + last;
}

/** The same, free a moment ago: for programs that have to be told their port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = portToReturnTo();
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

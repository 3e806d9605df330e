import { createServer } from 'node:net';

/** Each worker of the tests has ports of its own: two tests at a time would sooner or later choose the same one. */
const PORTS = 1000;
const first = 20_000 + (Number(process.env['VITEST_POOL_ID'] ?? 0) % 12) * PORTS;
let last = Math.floor(Math.random() * PORTS);

/**
 * A port for what will be stopped and started again on the same one: below those that systems give to outgoing
 * connections and to whoever binds port 0, so that none of these takes it in between. It may be in use.
 */
export function portToReturnTo(): number {
  last = (last + 1) % PORTS;
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

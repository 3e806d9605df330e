import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { addressCheck } from '../../lib/addresses.ts';
import { assertAllowed } from './checked-address.ts';
import { systemClock } from '../../lib/clock.ts';
import { loadUndici } from '../../lib/http-connections.ts';
import { ownConnections } from './shared-http.ts';
import { HttpPool } from './http-pool.ts';
import { MessageLimit } from './message-size.ts';
import { readText } from './read-text.ts';

const onlyPublic = addressCheck('public') ?? (() => true);
const loopbackToo = addressCheck(['127.0.0.0/8', '::1']) ?? (() => true);

async function get(isAllowed: typeof onlyPublic): Promise<{ text: string } | { error: string; connections: number }> {
  let connections = 0;
  const server = createServer((_req, res) => res.end('hello'));
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => {
    server.listen(0, 'localhost', resolve);
  });
  const url = new URL(`http://localhost:${(server.address() as AddressInfo).port}/`);
  const pool = new HttpPool(ownConnections(await loadUndici(), url.origin, isAllowed), 10, systemClock);
  try {
    const { body } = await pool.request({ url, method: 'GET', headers: {} }).answer;
    return { text: await readText(body, new MessageLimit()) };
  } catch (error) {
    return { error: (error as Error).message, connections };
  } finally {
    pool.destroy();
    server.close();
  }
}

test('X-2: addresses are checked at connect time, so a changed DNS answer does not bypass the check', async () => {
  expect(await get(loopbackToo)).toEqual({ text: 'hello' });
  expect(await get(onlyPublic)).toEqual({ error: expect.stringContaining('addServerAddresses'), connections: 0 });
});

test.each(['http://localhost/', 'http://127.1/', 'http://[::1]/', 'http://0177.0.0.1/', 'http://0/'])(
  'X-2: %s is refused before anything is sent',
  async (url) => {
    await expect(assertAllowed(new URL(url), onlyPublic)).rejects.toMatchObject({ code: 'TOOL_ERR_NOT_ALLOWED' });
  },
);

test('X-2: a name that does not resolve is left to the connection attempt', async () => {
  await expect(assertAllowed(new URL('http://no-such-host.invalid/'), onlyPublic)).resolves.toBeUndefined();
});

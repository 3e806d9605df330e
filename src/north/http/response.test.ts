import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { respondJson } from './response.ts';

/** Begins a request with a body, and gets the response before it sends the body. */
async function refused(method: string) {
  const http = createServer((_req, res) => respondJson(res, 403, '"no"')).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const socket = connect((http.address() as AddressInfo).port, '127.0.0.1');
  defer(async () => {
    socket.destroy();
    await new Promise((resolve) => void http.close(resolve));
  });
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  const arrived = once(http, 'request') as Promise<[IncomingMessage]>;
  socket.write(`${method} / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n`);
  const [request] = await arrived;
  return { request, socket, received: () => received };
}

test.each([
  ['POST', '\r\n\r\n"no"'],
  ['HEAD', '\r\n\r\n'],
])('X-4: a %s request gets its response before all of it has arrived', async (method, end) => {
  const { received } = await refused(method);
  await expect.poll(received).toMatch(/^HTTP\/1.1 403 /);
  await expect.poll(() => received().endsWith(end)).toBe(true);
});

test('X-3: the connection of a refused request closes if no more of it arrives', async () => {
  const { request, socket } = await refused('POST');
  const closed = once(socket, 'close');
  // As if that time had passed.
  request.socket.emit('timeout');
  await closed;
  expect(request.complete).toBe(false);
});

test('X-4: the connection of a refused request can be used again once all of it has arrived', async () => {
  const { request, socket, received } = await refused('POST');
  expect(request.socket.timeout).toBe(30_000);
  socket.write('body');
  await once(request, 'end');
  await expect.poll(() => request.socket.timeout).not.toBe(30_000);
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await expect.poll(() => received().match(/HTTP\/1.1 403 /g)).toHaveLength(2);
});

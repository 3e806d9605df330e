import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { respondJson } from './response.ts';

/** Begins a request with a body, and gets the response before it sends the body. */
async function refused(method: string) {
  const timeouts: number[] = [];
  const http = createServer((req, res) => {
    timeouts.push(req.socket.timeout ?? 0);
    respondJson(res, 403, '"no"');
  }).listen(0, '127.0.0.1');
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
  return { request, timeouts, socket, received: () => received };
}

test.each([
  ['POST', '\r\n\r\n"no"'],
  ['HEAD', '\r\n\r\n'],
])('X-4: a %s request gets its response before all of it has arrived', async (method, end) => {
  const { received } = await refused(method);
  await expect.poll(received).toMatch(/^HTTP\/1.1 403 /);
  await expect.poll(() => received().endsWith(end)).toBe(true);
});

test('X-3: the connection of a refused request closes if it has not arrived after 30 seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  defer(async () => void vi.useRealTimers());
  const { request, socket } = await refused('POST');
  socket.write('bo');
  await once(request, 'data');
  vi.advanceTimersByTime(29_999);
  expect(request.destroyed).toBe(false);
  const closed = once(socket, 'close');
  vi.advanceTimersByTime(1);
  await closed;
  expect(request.complete).toBe(false);
});

test('X-3, X-4: a request after a refused one on the same connection has no less time than others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  defer(async () => void vi.useRealTimers());
  const { timeouts, socket, received } = await refused('POST');
  socket.write('bodyGET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await expect.poll(() => received().match(/HTTP\/1.1 403 /g)).toHaveLength(2);
  expect(timeouts).toEqual([0, 0]);
  await expect.poll(() => vi.getTimerCount()).toBe(0);
});

test('X-3: no timer is left if the client left before its request was refused', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  defer(async () => void vi.useRealTimers());
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  defer(async () => new Promise((resolve) => void http.close(resolve)));
  const arrived = once(http, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  const socket = connect((http.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n');
  const [, res] = await arrived;
  const closed = once(res, 'close');
  socket.destroy();
  await closed;
  respondJson(res, 401, '"no"');
  expect(vi.getTimerCount()).toBe(0);
});

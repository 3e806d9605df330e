import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { respondJson } from './response.ts';

/** Not fake timers: they would also hold those that the other tests in this process have left. */
function watched<T extends 'setTimeout' | 'clearTimeout'>(timer: T) {
  const spy = vi.spyOn(globalThis, timer);
  defer(async () => spy.mockRestore());
  return spy;
}

/** Begins a request with a body, and gets the response before it sends the body. */
async function refused(method: string) {
  const timeouts: number[] = [];
  const deadlines: { run: () => void; ms: number | undefined; timer: unknown }[] = [];
  const setTimer = watched('setTimeout');
  const http = createServer((req, res) => {
    timeouts.push(req.socket.timeout ?? 0);
    setTimer.mockClear();
    respondJson(res, 403, '"no"');
    const { calls, results } = setTimer.mock;
    for (const [index, [run, ms]] of calls.entries()) deadlines.push({ run, ms, timer: results[index]?.value });
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
  return { request, timeouts, deadlines, socket, received: () => received };
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
  const { request, deadlines, socket } = await refused('POST');
  socket.write('bo');
  await once(request, 'data');
  expect(deadlines).toMatchObject([{ ms: 30_000 }]);
  expect(request.destroyed).toBe(false);
  const closed = once(socket, 'close');
  deadlines[0]?.run();
  await closed;
  expect(request.complete).toBe(false);
});

test('X-3, X-4: a request after a refused one on the same connection has no less time than others', async () => {
  const clearTimer = watched('clearTimeout');
  const { timeouts, deadlines, socket, received } = await refused('POST');
  socket.write('bodyGET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await expect.poll(() => received().match(/HTTP\/1.1 403 /g)).toHaveLength(2);
  expect(timeouts).toEqual([0, 0]);
  expect(deadlines).toHaveLength(1);
  await expect.poll(() => clearTimer.mock.calls.some(([timer]) => timer === deadlines[0]?.timer)).toBe(true);
});

test('X-3: no timer is left if the client left before its request was refused', async () => {
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
  const setTimer = watched('setTimeout');
  respondJson(res, 401, '"no"');
  expect(setTimer).not.toHaveBeenCalled();
});

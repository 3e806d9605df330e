import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { loadUndici } from '../../lib/http-connections.ts';
import { GatewayClient } from './gateway-client.ts';

test('K-3: a slow client gets the whole response although the connection to the other gateway ends', async () => {
  const bytes = 60_000;
  const server = createServer((socket) => {
    const head = `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${bytes}\r\n\r\n`;
    socket.once('data', () => socket.end(head + 'x'.repeat(bytes)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const gateways = new GatewayClient(await loadUndici());
  defer(async () => {
    gateways.close();
    await new Promise((resolve) => void server.close(resolve));
  });

  let received = 0;
  let proceed: (() => void) | undefined;
  const client = new Writable({
    highWaterMark: 1000,
    write: (chunk: Buffer, _encoding, done) => {
      received += chunk.length;
      proceed = done;
    },
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const closed = new Promise<Error | undefined>((onClose) => {
    gateways.send({ address, method: 'GET', path: '/', headers: {} }, { onAnswer: () => client, onClose });
  });
  const finished = once(client, 'finish');
  await expect.poll(() => received).toBeGreaterThan(0);
  // The end of the connection arrives meanwhile.
  await expect
    .poll(async () => new Promise((resolve) => void server.getConnections((_error, n) => resolve(n))))
    .toBe(0);
  for (let isFinished = false; !isFinished;) {
    proceed?.();
    isFinished = await Promise.race([
      finished.then(() => true),
      new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
    ]);
  }
  expect(received).toBe(bytes);
  expect(await closed).toBeUndefined();
});

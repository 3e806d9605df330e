import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { isUnsent } from './broken-wire.ts';
import { HttpTransport } from './http.ts';
import { MessageLimit } from './message-size.ts';

const transportTo = (url: string): HttpTransport =>
  new HttpTransport(
    { url },
    { onLost: () => {}, onDoubt: () => {} },
    { limit: new MessageLimit(1000), clock: systemClock },
  );

it('B-3, P-3: a request that was not sent when the connection is closed says so, before the others end', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = transportTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const ends: string[] = [];
  transport.onclose = () => ends.push('closed');
  const sending = transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
  const failed = sending.catch((error: unknown) => ends.push(isUnsent(error) ? 'not sent' : String(error)));
  await transport.close();
  await failed;
  expect(ends).toEqual(['not sent', 'closed']);
  server.close();
});

it('X-3, B-1: a stream that is given up because an event does not end has ended once', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${'x'.repeat(100_000)}`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const transport = transportTo(url);
  try {
    let ended = 0;
    await transport.send(
      { jsonrpc: '2.0', id: 1, method: 'tools/call' },
      { onRequestStreamEnd: () => void (ended += 1) },
    );
    await expect.poll(() => ended).toBe(1);
    // The connection is closed after that.
    await expect.poll(() => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))).toBe(0);
    expect(ended).toBe(1);
  } finally {
    await transport.close();
    server.close();
  }
});

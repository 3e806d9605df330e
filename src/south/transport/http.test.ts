import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/log.ts';
import { isBrokenWire, isUnsent } from './broken-wire.ts';
import { HttpTransport } from './http.ts';
import { MessageLimit } from './message-size.ts';

const transportTo = async (url: string): Promise<HttpTransport> => {
  const transport = new HttpTransport(
    { url },
    { onLost: () => {}, onDoubt: () => {} },
    { limit: new MessageLimit(1000), clock: systemClock },
  );
  await transport.start();
  return transport;
};

it('B-3, P-3: a request that was not sent when the connection is closed says so, before the others end', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = await transportTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const ends: string[] = [];
  transport.onclose = () => ends.push('closed');
  const send = async (id: number): Promise<void> =>
    transport.send({ jsonrpc: '2.0', id, method: 'tools/call' }).catch((error: unknown) => {
      ends.push(`${id} ${isUnsent(error) ? 'not sent' : 'sent'}: ${messageOf(error)}`);
      expect(isBrokenWire(error)).toBe(true);
    });
  const first = send(1);
  await once(server, 'request');
  const second = send(2);
  await transport.close();
  await Promise.all([first, second]);
  expect(ends).toEqual(['1 sent: the connection was closed', '2 not sent: the connection was closed', 'closed']);
  server.close();
});

it('X-3, B-1: a stream that is given up because an event does not end has ended once', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${'x'.repeat(100_000)}`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const transport = await transportTo(url);
  try {
    let ended = 0;
    transport.onmessage = (message) => {
      expect(message).toMatchObject({ id: 1, error: { message: expect.stringContaining('does not end') as unknown } });
      ended += 1;
    };
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
    await expect.poll(() => ended).toBe(1);
    // The connection is closed after that.
    await expect.poll(() => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))).toBe(0);
    expect(ended).toBe(1);
  } finally {
    await transport.close();
    server.close();
  }
});

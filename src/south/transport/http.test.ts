import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { HttpTransport } from './http.ts';
import { MessageLimit } from './message-size.ts';

it('X-3, B-1: a stream that is given up because an event does not end has ended once', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${'x'.repeat(100_000)}`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const transport = new HttpTransport(
    { url },
    { onLost: () => {}, onDoubt: () => {} },
    { limit: new MessageLimit(1000), clock: systemClock },
  );
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

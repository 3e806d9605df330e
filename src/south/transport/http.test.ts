import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSocketServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { defer, owned } from '../../../tests/support/owned.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/log.ts';
import { isBrokenWire, isUnsent } from './broken-wire.ts';
import { HttpTransport } from './http.ts';
import type { HttpHealth } from './http-health.ts';
import { MessageLimit } from './message-size.ts';

const transportTo = async (
  url: string,
  { headers, onDoubt = () => {}, clock = systemClock, bytes = 1000 }: Settings = {},
): Promise<HttpTransport> => {
  const transport = new HttpTransport(
    { url, ...(headers && { headers }) },
    { onLost: () => {}, onDoubt },
    { limit: new MessageLimit(bytes), clock },
  );
  await transport.start();
  return transport;
};

interface Settings {
  headers?: Record<string, string>;
  onDoubt?: HttpHealth['onDoubt'];
  clock?: Clock;
  bytes?: number;
}

/** The address of a server of this test. */
async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => new Promise((resolve) => void server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const ping = async (transport: HttpTransport, id: number): Promise<unknown> =>
  transport.send({ jsonrpc: '2.0', id, method: 'ping' }).catch((error: unknown) => error);

it('B-3, P-3: when the connection closes, unsent requests fail as unsent, before the other requests fail', async () => {
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

it('X-3, B-1: a stream with an endless event ends once, with an error', async () => {
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

it('B-3: a request on an idle connection that turns out to be broken counts as not sent', async () => {
  const sockets: Socket[] = [];
  let requests = 0;
  const server = createSocketServer((socket) => {
    sockets.push(socket);
    socket.on('data', () => {
      requests += 1;
      const body = JSON.stringify({ jsonrpc: '2.0', id: requests, result: {} });
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
  });
  const transport = owned(await transportTo(await listen(server)));
  await ping(transport, 1);
  // From here on, the connection is read before it is written to.
  await nextTurn();
  sockets[0]?.resetAndDestroy();
  const error = await ping(transport, 2);
  expect({ unsent: isUnsent(error), requests }).toEqual({ unsent: true, requests: 1 });
});

it('B-3: a request whose TLS handshake fails counts as not sent', async () => {
  const url = await listen(createServer());
  const error = await ping(owned(await transportTo(url.replace('http:', 'https:'))), 1);
  expect(isUnsent(error)).toBe(true);
});

it('B-1: a request with an invalid header fails with the reason, and does not cast doubt on the server', async () => {
  const doubts: string[] = [];
  const settings = { headers: { 'x-key': 'ключ' }, onDoubt: (reason: string) => void doubts.push(reason) };
  const error = await ping(owned(await transportTo(await listen(createServer()), settings)), 1);
  expect(messageOf(error)).toContain('invalid x-key header');
  expect(isBrokenWire(error)).toBe(false);
  expect(doubts).toEqual([]);
});

it('X-3: a JSON-RPC error in an HTTP error response is validated like any other message', async () => {
  const server = createServer((_request, response) => {
    const data = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    response.writeHead(400).end(`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":${data}}}`);
  });
  const transport = owned(await transportTo(await listen(server), { bytes: 100_000 }));
  const errors: unknown[] = [];
  transport.onmessage = (message) => void errors.push('error' in message && message.error.message);
  await ping(transport, 1);
  expect(errors).toEqual([expect.stringContaining('levels deep')]);
});

it('H-6: a refused answer to the server does not end a request of the gateway with the same ID', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(400).end('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}');
  });
  const transport = owned(await transportTo(await listen(server)));
  const messages: unknown[] = [];
  transport.onmessage = (message) => void messages.push(message);
  await expect(transport.send({ jsonrpc: '2.0', id: 1, result: {} })).rejects.toMatchObject({ status: 400 });
  expect(messages).toEqual([]);
  await ping(transport, 1);
  expect(messages).toEqual([expect.objectContaining({ id: 1 })]);
});

it('B-1: a stream is resumed with an event ID that has non-ASCII characters', async () => {
  const resumed: string[] = [];
  const server = createServer((request, response) => {
    resumed.push(Buffer.from(String(request.headers['last-event-id']), 'latin1').toString());
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (resumed.length === 1) response.end('id: событие-1\ndata:\n\n');
    else response.flushHeaders();
  });
  const clock = new TestClock();
  const transport = owned(await transportTo(await listen(server), { clock }));
  transport.openStandingStream();
  await expect.poll(() => clock.armed).toBe(1);
  clock.advance(300);
  await expect.poll(() => resumed).toEqual(['undefined', 'событие-1']);
});

it.each([
  [202, 'application/json'],
  [200, 'text/html'],
])('X-3: a response HTTP %i with %s that does not end is aborted', async (status, type) => {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': type }).write('more');
  });
  const transport = owned(await transportTo(await listen(server), { clock: new TestClock() }));
  expect(await ping(transport, 1)).toMatchObject({ failure: 'not_mcp' });
  await expect.poll(() => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))).toBe(0);
});

it('B-1: an unexpected 100 Continue is an error', async () => {
  const server = createSocketServer((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n'));
  });
  const error = await ping(owned(await transportTo(await listen(server))), 1);
  expect(messageOf(error)).toContain('100 Continue');
});

it('B-3: after a server refuses the standing stream, the connection of the stream is closed', async () => {
  const server = createServer((req, res) => {
    req.resume();
    if (req.method === 'GET') res.writeHead(405).end('no stream here');
    else {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }));
    }
  });
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const transport = await transportTo(await listen(server));
  defer(() => transport.close());
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
  const [first] = sockets;
  if (first === undefined) throw new Error('no connection');
  const started = performance.now();
  transport.openStandingStream();
  await once(first, 'close');
  expect(sockets).toEqual([first]);
  // An idle connection is kept for three seconds or more.
  expect(performance.now() - started).toBeLessThan(2000);
});

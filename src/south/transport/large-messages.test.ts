import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defer, owned } from '../../../tests/support/owned.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { LARGE_TEXT } from '../../lib/json-in-turns.ts';
import { HttpTransport } from './http.ts';
import { MessageLimit } from './message-size.ts';
import { SseTransport } from './sse.ts';

const KINDS = ['JSON', 'an HTTP error', 'an event stream', 'HTTP+SSE'] as const;
const STREAMS: ReadonlySet<Kind> = new Set(['an event stream', 'HTTP+SSE']);
type Kind = (typeof KINDS)[number];

const NO_HEALTH = { onLost: () => {}, onDoubt: () => {} };
const BIG_NUMBER = '9007199254740993';
const event = (message: string): string => `data: ${message}\n\n`;

async function listening(listener: RequestListener): Promise<{ url: string }> {
  const http = createServer(listener).listen(0, '127.0.0.1');
  await once(http, 'listening');
  defer(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => void http.close(resolve));
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/` };
}

const AFTER = event('{"jsonrpc":"2.0","method":"after"}') + event('{"jsonrpc":"2.0","method":"ask","id":"a"}');

/** Answers request 1 with half of a large result; `finish` sends the rest, with two messages after it if the answer is a stream. */
async function server(kind: Kind): Promise<{ url: string; finish: () => void }> {
  const text = 'x'.repeat(LARGE_TEXT);
  const result = `{"jsonrpc":"2.0","id":1,"result":{"n":${BIG_NUMBER},"text":"${text}"}}`;
  const error = `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"${text}"}}`;
  const message = kind === 'an HTTP error' ? error : result;
  const body = STREAMS.has(kind) ? event(message) + AFTER : message;
  let answer: ServerResponse | undefined;
  const { url } = await listening((req, res) => {
    if (req.method === 'GET') {
      answer = res.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.write(`event: endpoint\n${event('/')}`);
      return;
    }
    if (kind === 'HTTP+SSE') res.writeHead(202).end();
    else {
      const type = STREAMS.has(kind) ? 'text/event-stream' : 'application/json';
      answer = res.writeHead(kind === 'an HTTP error' ? 400 : 200, { 'content-type': type, connection: 'close' });
    }
    answer?.write(body.slice(0, body.length / 2));
  });
  const finish = (): void => {
    answer?.write(body.slice(body.length / 2));
    if (kind !== 'HTTP+SSE') answer?.end();
  };
  return { url, finish };
}

/** A transport that has received a large result, and is parsing it. */
async function parsing(kind: Kind): Promise<{ transport: HttpTransport | SseTransport; seen: unknown[] }> {
  const limit = new MessageLimit();
  const options = { limit, clock: systemClock };
  const { url, finish } = await server(kind);
  const Transport = kind === 'HTTP+SSE' ? SseTransport : HttpTransport;
  const transport = new Transport({ url }, NO_HEALTH, options);
  const seen: unknown[] = [];
  transport.onmessage = (message) => void seen.push('method' in message ? message.method : message.id);
  transport.onclose = () => void seen.push('closed');
  await transport.start();
  transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' }).catch((error: unknown) => seen.push(error));
  while (limit.receiving.size === 0) await nextTurn();
  finish();
  while (limit.receiving.size > 0) await nextTurn();
  expect(seen).toEqual([]);
  if (transport instanceof SseTransport) expect(transport.isBehind).toBe(true);
  return { transport, seen };
}

test.each(KINDS)('B-2, X-3: a large result that has arrived is not lost if the transport closes (%s)', async (kind) => {
  // A request of the server could no longer be answered.
  const { transport, seen } = await parsing(kind);
  await transport.close();
  expect(seen).toEqual(STREAMS.has(kind) ? [1, 'after', 'closed'] : [1, 'closed']);
});

test.each(KINDS)('B-1, X-3: a large result arrives although the server closes the connection (%s)', async (kind) => {
  const { seen } = await parsing(kind);
  await expect.poll(() => seen).toEqual(STREAMS.has(kind) ? [1, 'after', 'ask'] : [1]);
});

test.each(['JSON', 'an HTTP error', 'an event stream'] as const)(
  'H-6: a request that is cancelled while its response is parsed gets no response (%s)',
  async (kind) => {
    const { transport, seen } = await parsing(kind);
    (transport as HttpTransport).drop(1);
    await transport.close();
    expect(seen).toEqual(['closed']);
  },
);

test.each([
  ['JSON', 'application/json', (message: string) => message],
  ['event streams', 'text/event-stream', event],
] as const)('X-3, B-1: more large results than there is room for all arrive (%s)', async (_kind, type, framed) => {
  const count = 30;
  const list = `${BIG_NUMBER},`.repeat(70_000);
  const { url } = await listening((req, res) => {
    req.on('data', (chunk: Buffer) => {
      const { id } = JSON.parse(chunk.toString()) as { id: number };
      res
        .writeHead(200, { 'content-type': type })
        .end(framed(`{"jsonrpc":"2.0","id":${id},"result":{"l":[${list}1]}}`));
    });
  });
  const limit = new MessageLimit(2 * LARGE_TEXT);
  const transport = owned(new HttpTransport({ url }, NO_HEALTH, { limit, clock: systemClock }));
  await transport.start();
  const results: unknown[] = [];
  transport.onmessage = (message) => void results.push('result' in message ? message.id : message);
  for (let id = 1; id <= count; id += 1) void transport.send({ jsonrpc: '2.0', id, method: 'tools/call' });
  await expect.poll(() => results).toHaveLength(count);
  expect(new Set(results)).toEqual(new Set(Array.from({ length: count }, (_, index) => index + 1)));
  expect(limit.receiving.size).toBe(0);
});

test.each(['transfer-encoding: chunked', 'connection: close'])(
  'B-1: a response behind a large message is not lost if the connection is reset meanwhile (%s)',
  async (header) => {
    const notification = event(
      `{"jsonrpc":"2.0","method":"large","params":{"l":[${`${BIG_NUMBER},`.repeat(500_000)}1]}}`,
    );
    const framed = (text: string): string =>
      header.endsWith('close') ? text : `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
    let peer: Socket | undefined;
    const server = createSocketServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${header}\r\n\r\n`);
        socket.write(framed(notification));
        peer = socket;
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    defer(async () => new Promise((resolve) => void server.close(resolve)));
    const limit = new MessageLimit();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const transport = owned(new HttpTransport({ url }, NO_HEALTH, { limit, clock: systemClock }));
    await transport.start();
    const seen: unknown[] = [];
    transport.onmessage = (message) => void seen.push('method' in message ? message.method : message);
    void transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
    while (limit.receiving.size === 0) await nextTurn();
    while (limit.receiving.size > 0) await nextTurn();
    expect(seen).toEqual([]);
    // It is read in one of the next turns, while the notification is parsed.
    peer?.write(framed(event('{"jsonrpc":"2.0","id":1,"result":{}}')));
    for (let left = 10; left > 0; left -= 1) await nextTurn();
    peer?.resetAndDestroy();
    expect(seen).toEqual([]);
    await expect.poll(() => seen).toEqual(['large', { jsonrpc: '2.0', id: 1, result: {} }]);
  },
);

test('B-1, X-3: an HTTP error that waits for room is not late', async () => {
  const message = 'x'.repeat(900_000);
  const { url } = await listening((_req, res) => {
    res.writeHead(400, { 'content-type': 'application/json' });
    res.end(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"${message}"}}`);
  });
  const limit = new MessageLimit(1_000_000);
  const onHandled = limit.handling(20_000_000);
  const clock = new TestClock();
  const transport = owned(new HttpTransport({ url }, NO_HEALTH, { limit, clock }));
  await transport.start();
  const seen: unknown[] = [];
  transport.onmessage = (answer) => void seen.push('error' in answer && answer.error.message.length);
  void transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
  await expect.poll(() => limit.receiving.size).toBe(1);
  clock.advance(20_000);
  onHandled?.();
  await expect.poll(() => seen).toEqual([message.length]);
});

test('B-2, X-3: the stream of HTTP+SSE is paused while there is no room for a message on it', async () => {
  const { url } = await listening((req, res) => {
    if (req.method === 'POST') res.writeHead(202).end();
    else {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(`event: endpoint\n${event('/')}${event(`{"jsonrpc":"2.0","method":"${'x'.repeat(900_000)}"}`)}`);
    }
  });
  const limit = new MessageLimit(1_000_000);
  const onHandled = limit.handling(20_000_000);
  const transport = owned(new SseTransport({ url }, NO_HEALTH, { limit, clock: systemClock }));
  let received = 0;
  transport.onmessage = () => (received += 1);
  await transport.start();
  await expect.poll(() => transport.isBehind).toBe(true);
  expect(received).toBe(0);
  expect(transport.received).toBeLessThan(900_000);
  onHandled?.();
  await expect.poll(() => received).toBe(1);
  expect(transport.isBehind).toBe(false);
  expect(transport.received).toBeGreaterThan(900_000);
});

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { systemClock } from '../../lib/clock.ts';
import { LARGE_TEXT } from '../../lib/json-in-turns.ts';
import { HttpTransport } from './http.ts';
import { MessageLimit } from './message-size.ts';
import { SseTransport } from './sse.ts';

const KINDS = ['JSON', 'an HTTP error', 'an event stream', 'HTTP+SSE'] as const;
const STREAMS: ReadonlySet<Kind> = new Set(['an event stream', 'HTTP+SSE']);
type Kind = (typeof KINDS)[number];

const BIG_NUMBER = '9007199254740993';
const event = (message: string): string => `data: ${message}\n\n`;

/** Answers request 1 with half of a large result; `finish` sends the rest, with a notification after it if the answer is a stream. */
async function server(kind: Kind): Promise<{ url: string; finish: () => void }> {
  const text = 'x'.repeat(LARGE_TEXT);
  const result = `{"jsonrpc":"2.0","id":1,"result":{"n":${BIG_NUMBER},"text":"${text}"}}`;
  const error = `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"${text}"}}`;
  const message = kind === 'an HTTP error' ? error : result;
  const body = STREAMS.has(kind) ? event(message) + event('{"jsonrpc":"2.0","method":"after"}') : message;
  let answer: ServerResponse | undefined;
  const http = createServer((req, res) => {
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
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  defer(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => void http.close(resolve));
  });
  const finish = (): void => {
    answer?.write(body.slice(body.length / 2));
    if (kind !== 'HTTP+SSE') answer?.end();
  };
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`, finish };
}

/** A transport that has received a large result, and is parsing it. */
async function parsing(kind: Kind): Promise<{ transport: HttpTransport | SseTransport; seen: unknown[] }> {
  const limit = new MessageLimit();
  const health = { onLost: () => {}, onDoubt: () => {} };
  const options = { limit, clock: systemClock };
  const { url, finish } = await server(kind);
  const Transport = kind === 'HTTP+SSE' ? SseTransport : HttpTransport;
  const transport = new Transport({ url }, health, options);
  const seen: unknown[] = [];
  transport.onmessage = (message) => void seen.push('method' in message ? message.method : message.id);
  transport.onclose = () => void seen.push('closed');
  await transport.start();
  transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' }).catch((error: unknown) => seen.push(error));
  while (limit.reserved === 0) await nextTurn();
  finish();
  while (limit.reserved > 0) await nextTurn();
  expect(seen).toEqual([]);
  return { transport, seen };
}

test.each(KINDS)('B-2, X-3: a large result that has arrived is not lost if the transport closes (%s)', async (kind) => {
  const { transport, seen } = await parsing(kind);
  await transport.close();
  expect(seen).toEqual(STREAMS.has(kind) ? [1, 'after', 'closed'] : [1, 'closed']);
});

test.each(KINDS)('B-1, X-3: a large result arrives although the server closes the connection (%s)', async (kind) => {
  const { seen } = await parsing(kind);
  await expect.poll(() => seen).toEqual(STREAMS.has(kind) ? [1, 'after'] : [1]);
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

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { openStream, send } from '../../../tests/support/raw-http.ts';
import { turn } from '../../../tests/support/turn.ts';
import { Exchange } from '../exchange.ts';
import type { Message } from '../message.ts';
import { LegacyTransport } from './transport.ts';

/** A transport behind a real server, with the messages that it has received. */
async function served() {
  const transport = new LegacyTransport('s', { primesStreams: true });
  const received: Message[] = [];
  transport.onmessage = (message) => received.push(message);
  const responses: ServerResponse[] = [];
  const server = createServer((req, res) => {
    responses.push(res);
    if (req.method === 'GET') {
      transport.get(req, res);
      return;
    }
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => transport.post(res, JSON.parse(Buffer.concat(chunks).toString()) as Message[]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    transport.close();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { transport, received, responses, url };
}

const NOTE: Message = { jsonrpc: '2.0', method: 'x/a' };
const request = (id: number): Message => ({ jsonrpc: '2.0', id, method: 'x/a' });

test('X-4: a closed transport writes nothing to its streams', async () => {
  const { transport, responses, url } = await served();
  const stream = await openStream(url);
  const errors: unknown[] = [];
  responses[0]?.on('error', (error) => errors.push(error));
  expect(transport.reaches()).toBe(true);
  transport.close();
  expect(transport.reaches()).toBe(false);
  transport.send(NOTE);
  await stream.ended;
  await turn();
  expect(errors).toEqual([]);
});

test('T-4: a batch with a cancelled request returns the replies to the other requests', async () => {
  const { transport, received, url } = await served();
  const answer = send(url, { body: JSON.stringify([request(1), request(2)]) });
  await vi.waitFor(() => expect(received).toHaveLength(2));
  const exchange = new Exchange();
  transport.track(1, exchange);
  const delivered = vi.fn();
  exchange.whenSettled(delivered);
  transport.send({ jsonrpc: '2.0', id: 1, result: { a: 1 } });
  transport.abandon(2);
  const { status, headers, text } = await answer;
  expect({ status, type: headers['content-type'], text }).toEqual({
    status: 200,
    type: 'application/json',
    text: '[{"jsonrpc":"2.0","id":1,"result":{"a":1}}]',
  });
  await vi.waitFor(() => expect(delivered).toHaveBeenCalledWith(true));
});

test('T-4: a POST whose only request is cancelled gets an empty response', async () => {
  const { transport, received, url } = await served();
  const answer = send(url, { body: JSON.stringify(request(1)) });
  await vi.waitFor(() => expect(received).toHaveLength(1));
  transport.abandon(1);
  expect(await answer).toMatchObject({ status: 200, text: '' });
});

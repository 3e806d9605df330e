import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { defer } from '../../../tests/support/owned.ts';
import { loadUndici } from '../../lib/http-connections.ts';
import { GatewayClient } from './gateway-client.ts';

test.each([
  { how: 'in one piece', pieces: 1, size: 60_000, isEndSeen: true },
  { how: 'in many small pieces', pieces: 100, size: 400, isEndSeen: true },
  { how: 'in several reads', pieces: 1, size: 1_000_000, isEndSeen: false },
])(
  'K-3: a slow client gets a whole response that arrives $how although the connection to the other gateway ends',
  async ({ pieces, size, isEndSeen }) => {
    const head = 'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n';
    const body = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`.repeat(pieces);
    let isSent = false;
    const server = createServer((socket) => {
      socket.once('data', () => socket.end(`${head}${body}0\r\n\r\n`, () => (isSent = true)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const connections = async () => new Promise((resolve) => void server.getConnections((_error, n) => resolve(n)));
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
    expect(client.listenerCount('drain')).toBe(1);
    // The end of the connection arrives meanwhile.
    await expect.poll(() => isSent).toBe(true);
    await expect.poll(connections).toBe(isEndSeen ? 0 : 1);
    for (let isFinished = false; !isFinished;) {
      const done = proceed;
      proceed = undefined;
      done?.();
      isFinished = await Promise.race([
        finished.then(() => true),
        new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
      ]);
    }
    expect(received).toBe(pieces * size);
    expect(await closed).toBeUndefined();
  },
);

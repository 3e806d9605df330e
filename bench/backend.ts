/**
 * The server behind everything: MCP in plain `node:http`, as cheap as can be, so that what is measured is the way to it.
 * At /legacy it speaks 2025-11-25, at /modern 2026-07-28. Sends its origin to its parent, which may ask how many calls of
 * `wait` are `held`, and say `release`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { respond, type Message } from './echo.ts';

/** Long enough to become a task of whoever does not wait. */
const SLOW_MS = 30;

let held = 0;
let release = (): void => {};
const released = new Promise<void>((resolve) => {
  release = resolve;
});

process.on('message', (message) => {
  if (message === 'release') release();
  if (message === 'release' || message === 'held') process.send?.({ held });
});

async function waitForRelease(): Promise<void> {
  held += 1;
  await released;
  held -= 1;
}

async function read(req: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    req.setEncoding('utf8');
    req.on('data', (chunk: string) => {
      text += chunk;
    });
    req.on('end', () => resolve(text));
    req.on('error', reject);
  });
}

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const text = await read(req);
  if (req.method !== 'POST') {
    res.writeHead(405).end();
    return;
  }
  const message = JSON.parse(text) as Message;
  if (message.id === undefined) {
    res.writeHead(202).end();
    return;
  }
  if (message.params?.name === 'slow') await delay(SLOW_MS);
  if (message.params?.name === 'wait') await waitForRelease();
  const body = respond(message, req.url === '/modern');
  res.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(message.method === 'initialize' && { 'mcp-session-id': 'bench' }),
  });
  res.end(body);
}

const server = createServer((req, res) => void serve(req, res));
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

/**
 * The server behind everything: MCP over HTTP on raw sockets, as cheap as can be, so that what is measured is the way to it.
 * At /legacy it speaks 2025-11-25, at /modern 2026-07-28; at /stream it speaks 2025-11-25 and answers with event streams. Sends
 * its origin to its parent, which may ask how many calls of `wait` are `held`, and say `release`.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { respond, type Message } from './echo.ts';
import { readMessages, type HttpMessage } from './http-messages.ts';

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

function serve(socket: Socket, { head, body }: HttpMessage): void {
  const reply = (status: string, headers = '', text = ''): void =>
    void socket.write(`HTTP/1.1 ${status}\r\n${headers}content-length: ${text.length}\r\n\r\n${text}`, 'latin1');
  if (!head.startsWith('POST ')) return reply('405 Method Not Allowed');
  const message = JSON.parse(body) as Message;
  if (message.id === undefined) return reply('202 Accepted');
  const answer = (): void => {
    const session = message.method === 'initialize' ? 'mcp-session-id: bench\r\n' : '';
    const text = respond(message, head.startsWith('POST /modern '));
    if (!head.startsWith('POST /stream ')) reply('200 OK', `content-type: application/json\r\n${session}`, text);
    else reply('200 OK', `content-type: text/event-stream\r\n${session}`, `data: ${text}\n\n`);
  };
  if (message.params?.name === 'slow') void delay(SLOW_MS).then(answer);
  else if (message.params?.name === 'wait') void waitForRelease().then(answer);
  else answer();
}

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  readMessages(socket, (message) => serve(socket, message));
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

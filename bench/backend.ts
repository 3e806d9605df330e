/**
 * The server behind everything: MCP in plain `node:http`, as cheap as can be, so that what is measured is the way to it.
 * At /legacy it speaks 2025-11-25, at /modern 2026-07-28. Sends its origin to its parent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

interface Message {
  id?: number | string;
  method: string;
  params?: { name?: string; arguments?: { text?: string } };
}

const INFO = { name: 'bench', version: '1.0.0' };
const ECHO = {
  name: 'echo',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};
/** Long enough to become a task of whoever does not wait. */
const SLOW_MS = 30;
const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: INFO };
const CACHE = { ttlMs: 60_000, cacheScope: 'private' };

function answer({ method, params }: Message, modern: boolean): object | undefined {
  const complete = modern ? { resultType: 'complete' } : {};
  switch (method) {
    case 'initialize':
      return modern ? undefined : { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: INFO };
    case 'server/discover':
      return modern ? { ...complete, ...DISCOVERED, ...CACHE } : undefined;
    case 'ping':
      return {};
    case 'tools/list':
      return { ...complete, tools: [ECHO], ...(modern && CACHE) };
    case 'tools/call':
      return { ...complete, content: [{ type: 'text', text: params?.arguments?.text ?? '' }] };
    default:
      return undefined;
  }
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
  const result = answer(message, req.url === '/modern');
  const rest = result ? { result } : { error: { code: -32601, message: `Method not found: ${message.method}` } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...rest });
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

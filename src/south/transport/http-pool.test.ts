import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type AddressInfo, type Server as SocketServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { HttpConnections, loadUndici } from '../../lib/http-connections.ts';
import { HttpPool } from './http-pool.ts';
import { MessageLimit } from './message-size.ts';
import { PendingWork } from './pending-work.ts';
import { readText } from './read-text.ts';
import { readEvents } from './sse-parser.ts';

const cleanup: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanup.splice(0)) each();
});

async function urlOf(server: Server | SocketServer): Promise<URL> {
  server.listen(0, '127.0.0.1');
  cleanup.push(() => server.close());
  await once(server, 'listening');
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/start`);
}

async function poolTo(url: URL, limit = 10, clock: Clock = systemClock): Promise<HttpPool> {
  const pool = new HttpPool(new HttpConnections(await loadUndici(), url.origin), limit, clock);
  cleanup.push(() => pool.destroy());
  return pool;
}

async function served(listener: RequestListener): Promise<{ url: URL; pool: HttpPool }> {
  const url = await urlOf(createServer(listener));
  return { url, pool: await poolTo(url) };
}

const post = (url: URL) => ({ url, method: 'POST', headers: {}, body: Buffer.from('{}') }) as const;

test('B-1: a redirect to the same origin is followed once, if it keeps the method', async () => {
  const asked: string[] = [];
  const { url, pool } = await served((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    res.writeHead(307, { location: '/next?a=1' }).end('elsewhere');
  });
  const { status, body } = await pool.request(post(url)).answer;
  body.discard();
  expect(status).toBe(307);
  expect(asked).toEqual(['POST /start', 'POST /next?a=1']);
});

test('B-1: after a redirect the connection is reused, unless the body of the redirect does not end', async () => {
  const ports: (number | undefined)[] = [];
  let endsAt = '';
  const { url, pool } = await served((req, res) => {
    ports.push(req.socket.remotePort);
    if (req.url === '/next') req.pipe(res);
    else res.writeHead(307, { location: '/next' }).write('elsewhere');
    if (req.url === endsAt) res.end();
  });
  const ask = async (): Promise<string> => readText((await pool.request(post(url)).answer).body, new MessageLimit());
  expect(await ask()).toBe('{}');
  endsAt = '/start';
  expect(await ask()).toBe('{}');
  const [first, second, third, fourth] = ports;
  expect(second).not.toBe(first);
  expect([third, fourth]).toEqual([second, second]);
});

test.each(['http://localhost:1/', 'http://', '//other/'])('X-2: a redirect to %s is not followed', async (location) => {
  const { url, pool } = await served((_req, res) => void res.writeHead(308, { location }).end('gone'));
  const { status, headers, body } = await pool.request(post(url)).answer;
  expect({ status, headers, text: await readText(body, new MessageLimit()) }).toMatchObject({
    status: 308,
    headers: { location },
    text: 'gone',
  });
});

test('B-1: informational responses are skipped', async () => {
  const server = createSocketServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n');
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  const url = await urlOf(server);
  const { status, body } = await (await poolTo(url)).request(post(url)).answer;
  expect([status, await readText(body, new MessageLimit())]).toEqual([200, 'ok']);
});

test('T-4: a request that is aborted while it waits for a connection is not sent', async () => {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url ?? '');
    if (req.url !== '/first') res.end();
  });
  const url = await urlOf(server);
  const pool = await poolTo(url, 1);
  let sent = 0;
  const ask = (path: string) => pool.request({ ...post(new URL(path, url)), onSent: () => void (sent += 1) });
  const first = ask('/first');
  await once(server, 'request');
  const second = ask('/second');
  const third = ask('/third');
  second.abort();
  await expect(second.answer).rejects.toThrow('aborted');
  expect(second.aborted).toBe(true);
  first.abort();
  await expect(first.answer).rejects.toThrow('aborted');
  (await third.answer).body.discard();
  expect(asked).toEqual(['/first', '/third']);
  expect(sent).toBe(2);
});

test('B-1: data that arrives before there is a reader is kept, and a broken body ends with an error', async () => {
  const server = createSocketServer((socket) => {
    socket.once('data', () => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this');
    });
  });
  const url = await urlOf(server);
  const { body } = await (await poolTo(url)).request(post(url)).answer;
  const chunks: Buffer[] = [];
  const closed = new Promise<Error | undefined>((onClose) => {
    setImmediate(() => body.read({ onData: (chunk) => void chunks.push(chunk), onClose }));
  });
  expect(await closed).toBeInstanceOf(Error);
  expect(Buffer.concat(chunks).toString()).toBe('only this');
});

test('X-3: reading a body that is too large fails', async () => {
  const { url, pool } = await served((_req, res) => {
    res.writeHead(200);
    res.write('x'.repeat(2000));
  });
  const { body } = await pool.request(post(url)).answer;
  await expect(readText(body, new MessageLimit(1000))).rejects.toThrow('larger than limits.messageBytes = 1000');
});

test('B-3: a request does not wait for an upload that the server has refused without reading it', async () => {
  const server = createSocketServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (start) => {
      const isLarge = start.includes('/large');
      if (isLarge) socket.pause();
      socket.write(`HTTP/1.1 ${isLarge ? 413 : 200} X\r\ncontent-length: 0\r\n\r\n`);
    });
    cleanup.push(() => socket.destroy());
  });
  const url = await urlOf(server);
  const pool = await poolTo(url);
  const large = { ...post(new URL('/large', url)), body: Buffer.alloc(16_000_000) };
  const refused = await pool.request(large).answer;
  refused.body.discard();
  expect(refused.status).toBe(413);
  const { status, body } = await pool.request(post(url)).answer;
  body.discard();
  expect(status).toBe(200);
});

test('X-3: a discarded body that is large or does not end closes its connection', async () => {
  const server = createServer((req, res) => {
    res.writeHead(200).write(req.url === '/large' ? Buffer.alloc(1_000_000) : 'more');
  });
  const url = await urlOf(server);
  const clock = new TestClock();
  const pool = await poolTo(url, 10, clock);
  const open = async (): Promise<number> =>
    new Promise((resolve) => void server.getConnections((_error, count) => resolve(count)));
  (await pool.request(post(new URL('/large', url))).answer).body.discard();
  await expect.poll(open).toBe(0);
  (await pool.request(post(url)).answer).body.discard();
  clock.advance(999);
  expect(await open()).toBe(1);
  clock.advance(1);
  await expect.poll(open).toBe(0);
  expect(clock.armed).toBe(0);
});

test('X-3: a response without a reader slows down the server', async () => {
  const size = 64_000_000;
  let large: ServerResponse | undefined;
  const { url, pool } = await served((req, res) => {
    if (req.url === '/start') large = res.end(Buffer.alloc(size));
    else res.end();
  });
  const { body } = await pool.request(post(url)).answer;
  const unsent = (): number => large?.writableLength ?? 0;
  // As long as other requests are answered, the server could send more.
  for (let [idle, before] = [0, 0]; idle < 20; idle = unsent() === before ? idle + 1 : 0) {
    before = unsent();
    (await pool.request(post(new URL('/other', url))).answer).body.discard();
  }
  expect(unsent()).toBeGreaterThan(0);
  expect((await readText(body, new MessageLimit(2 * size))).length).toBe(size);
});

test('B-1: a request reuses an idle connection, but not a closed one', async () => {
  const ports = new Set<number | undefined>();
  const server = createServer((req, res) => {
    ports.add(req.socket.remotePort);
    res.end();
  });
  const url = await urlOf(server);
  const pool = await poolTo(url);
  const ask = async (): Promise<void> => (await pool.request(post(url)).answer).body.discard();
  await ask();
  await ask();
  expect(ports.size).toBe(1);
  server.closeAllConnections();
  await expect.poll(async () => ask().then(() => ports.size)).toBe(2);
});

test('C-1: with the header "connection: close" each request has its own connection', async () => {
  const ports = new Set<number | undefined>();
  const { url, pool } = await served((req, res) => {
    ports.add(req.socket.remotePort);
    res.end(req.headers.connection);
  });
  for (let asked = 1; asked <= 2; asked += 1) {
    const { body } = await pool.request({ ...post(url), headers: { connection: 'close' } }).answer;
    expect(await readText(body, new MessageLimit())).toBe('close');
    expect(ports.size).toBe(asked);
  }
});

const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
};

test.each([
  ['at its first piece', 0],
  ['by pieces that arrived before its reader', 50],
])('X-3: a body that is paused %s is read no further, and arrives whole after it is resumed', async (_when, wait) => {
  const bytes = 8 * 1024 * 1024;
  const { url, pool } = await served((_req, res) => void res.end(Buffer.alloc(bytes, 'x')));
  const { body } = await pool.request(post(url)).answer;
  await turns(wait);
  let received = 0;
  const closed = new Promise<Error | undefined>((onClose) => {
    body.read({
      onData: (chunk) => {
        if (received === 0) body.pause();
        received += chunk.length;
      },
      onClose,
    });
  });
  await expect.poll(() => received).toBeGreaterThan(0);
  await turns(100);
  expect(received).toBeLessThan(bytes / 2);
  body.resume();
  expect(await closed).toBeUndefined();
  expect(received).toBe(bytes);
});

test.each([
  ['without a length', ''],
  ['with a length', 'content-length: 1000000\r\n'],
])('B-1: a body %s whose connection ends while it is paused arrives whole', async (_how, length) => {
  const bytes = 1_000_000;
  const server = createSocketServer((socket) => {
    const head = `HTTP/1.1 200 OK\r\nconnection: close\r\n${length}\r\n`;
    socket.once('data', () => socket.end(head + 'x'.repeat(bytes)));
  });
  const url = await urlOf(server);
  const { body } = await (await poolTo(url)).request(post(url)).answer;
  let received = 0;
  const closed = new Promise<Error | undefined>((onClose) => {
    body.read({
      onData: (chunk) => {
        received += chunk.length;
        body.pause();
        void turns(3).then(() => body.resume());
      },
      onClose,
    });
  });
  expect(await closed).toBeUndefined();
  expect(received).toBe(bytes);
});

test('B-1: a connection whose body ended while it was paused is reused', async () => {
  const ports: (number | undefined)[] = [];
  let finish = (): void => {};
  const { url, pool } = await served((req, res) => {
    ports.push(req.socket.remotePort);
    res.writeHead(200, { 'content-length': 5 }).flushHeaders();
    finish = () => void res.end('piece');
  });
  for (let left = 3; left > 0; left -= 1) {
    const { body } = await pool.request(post(url)).answer;
    await new Promise<void>((resolve) => {
      body.read({ onData: () => body.pause(), onClose: () => resolve() });
      finish();
    });
  }
  expect(new Set(ports).size).toBe(1);
});

test('B-1: the events after one that takes several turns wait for it, and so does the end of the stream', async () => {
  const { url, pool } = await served((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end('data: 1\n\ndata: slow\n\ndata: 3\n\n');
  });
  const { body } = await pool.request(post(url)).answer;
  const seen: string[] = [];
  let release = (): void => {};
  const closed = new Promise<void>((resolve) => {
    const host = { limit: new MessageLimit(), parsing: new PendingWork(), onError: () => {} };
    readEvents(body, host, {
      onEvent: ({ data }) => {
        seen.push(data);
        if (data !== 'slow') return undefined;
        return new Promise((done) => {
          release = done;
        });
      },
      onOversize: () => {},
      onRetry: () => {},
      onClose: () => {
        seen.push('closed');
        resolve();
      },
    });
  });
  await expect.poll(() => seen).toEqual(['1', 'slow']);
  await turns(20);
  expect(seen).toEqual(['1', 'slow']);
  release();
  await closed;
  expect(seen).toEqual(['1', 'slow', '3', 'closed']);
});

import { once } from 'node:events';
import { Agent, createServer as createHttpServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { errorOf, openStream, post, send, type RawAnswer } from '../../../tests/support/raw-http.ts';
import { Ownership, testPeer, type Here, type TestPeer } from '../../../tests/support/cluster.ts';
import { defer } from '../../../tests/support/owned.ts';
import { TcpProxy } from '../../../tests/support/tcp-proxy.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import type { Neighbours } from '../../core/cluster/neighbours.ts';
import { OwnedElsewhere } from '../../core/errors.ts';
import { listenToResponse, respondJson } from '../http/response.ts';
import { DELIVERY, FORWARDED } from '../http/addressed.ts';
import { gatewayOrigin } from './advertise.ts';
import { forwardedHeader } from './forwarded-header.ts';

const IN_SESSION = { 'mcp-session-id': 's1' };
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } };

interface Pair {
  front: TestPeer;
  owner: TestPeer;
  ownership: Ownership;
  clock: TestClock;
  /** How often the front has tried to serve a request itself. */
  tried: () => number;
}

/** Two gateways; the second one has the session `s1` and serves with `here`. The first one serves it once that one has lost it. */
async function pair(here: Here): Promise<Pair> {
  const ownership = new Ownership();
  const clock = new TestClock();
  const owner = await testPeer('owner', ownership, here, { clock });
  ownership.owners.set('s1', { id: 'owner', address: owner.address });
  let tried = 0;
  const front = await testPeer(
    'front',
    ownership,
    (req, res) => {
      tried += 1;
      const found = ownership.owners.get('s1');
      if (found !== undefined && req.headers['mcp-session-id'] === 's1') throw new OwnedElsewhere('s1', found);
      respondJson(res, 200, '{"served":"front"}');
    },
    { clock },
  );
  return { front, owner, ownership, clock, tried: () => tried };
}

/** Moves the time on as often as the condition needs. */
async function until(clock: TestClock, holds: () => boolean): Promise<void> {
  await vi.waitFor(
    () => {
      clock.advance(200);
      expect(holds()).toBe(true);
    },
    { interval: 2, timeout: 10_000 },
  );
}

/** The same until there is an answer. */
async function answerOf(clock: TestClock, answering: Promise<RawAnswer>): Promise<RawAnswer> {
  let isThere = false;
  void answering.finally(() => (isThere = true)).catch(() => {});
  await until(clock, () => isThere);
  return answering;
}

test('K-3: path, body and end-to-end headers are forwarded, credentials and connection headers are not', async () => {
  let seen: IncomingMessage | undefined;
  let body = '';
  let ownerSendsDate = true;
  const { front } = await pair((req, res, bytes) => {
    seen = req;
    ownerSendsDate = res.sendDate;
    body = bytes.toString();
    res.removeHeader('access-control-allow-origin');
    res.writeHead(207, { 'content-type': 'application/json', 'mcp-session-id': 's1', 'x-own': 'ä' }).end('{"é":1}');
  });
  const headers = {
    ...IN_SESSION,
    'content-type': 'application/json',
    accept: '*/*',
    authorization: 'Bearer secret',
    cookie: 'a=b',
    origin: 'http://localhost',
    connection: 'keep-alive, x-hop',
    'x-hop': '1',
    'mcp-name': 'grün',
  };
  const text = '{ "as":  "it came", "n": 12345678901234567890.10 }';
  const answer = await send(`${front.address}/mcp?as=desk`, { headers, body: text });
  expect(body).toBe(text);
  expect(seen?.url).toBe('/mcp?as=desk');
  // Node writes UTF-8 and reads Latin-1.
  expect(seen?.headers).toMatchObject({ ...IN_SESSION, accept: '*/*', 'mcp-name': 'gr\u00c3\u00bcn' });
  for (const name of ['authorization', 'cookie', 'origin', 'x-hop']) expect(seen?.headers).not.toHaveProperty(name);
  expect(answer).toMatchObject({ status: 207, text: '{"é":1}' });
  expect(answer.headers).toMatchObject({
    'mcp-session-id': 's1',
    'x-own': 'ä',
    'access-control-allow-origin': 'from-front',
  });
  // The front sets it.
  expect(ownerSendsDate).toBe(false);
  expect(answer.headers).toHaveProperty('date');
});

test('K-3: the owner of a session is cached, and looked up again after a while', async () => {
  const { front, tried, ownership, clock } = await pair((_req, res) => respondJson(res, 200, '{"served":"owner"}'));
  for (let i = 0; i < 3; i += 1) expect((await post(front.address, CALL, IN_SESSION)).text).toBe('{"served":"owner"}');
  expect([tried(), ownership.asked]).toEqual([1, 0]);
  // Its lease may have ended; the store knows.
  clock.advance(6000);
  expect((await post(front.address, CALL, IN_SESSION)).text).toBe('{"served":"owner"}');
  expect([tried(), ownership.asked]).toEqual([1, 1]);
  ownership.owners.clear();
  clock.advance(6000);
  expect((await post(front.address, CALL, IN_SESSION)).text).toBe('{"served":"front"}');
});

test('K-3: a request without a session is served by the gateway that gets it', async () => {
  const { front } = await pair((_req, res) => respondJson(res, 200, '{"served":"owner"}'));
  expect((await post(front.address, CALL)).text).toBe('{"served":"front"}');
});

test('K-3: a large body and a large response are forwarded', async () => {
  const large = 'x'.repeat(20_000_000);
  const { front } = await pair((_req, res, bytes) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(bytes);
  });
  const answer = await send(front.address, { headers: IN_SESSION, body: large });
  expect(answer.text.length).toBe(large.length);
});

test('K-3: a stream is forwarded event by event, and begins before the first event', async () => {
  let stream: ServerResponse | undefined;
  const { front } = await pair((_req, res) => {
    stream = res;
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  });
  const opened = await openStream(front.address, { headers: IN_SESSION });
  expect(opened.events).toEqual([]);
  for (const data of ['one', 'two']) {
    stream?.write(`id: ${data}\ndata: ${data}\n\n`);
    await vi.waitFor(() => expect(opened.events.at(-1)).toEqual({ id: data, data }));
  }
  stream?.end();
  await opened.ended;
});

test('K-3: a client that does not read slows down the owner without filling memory', async () => {
  const chunk = Buffer.alloc(1 << 20);
  const total = 64;
  let written = 0;
  const { front } = await pair(async (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    while (written < total) {
      written += 1;
      if (!res.write(chunk)) await once(res, 'drain');
    }
    res.end();
  });
  let atFront: ServerResponse | undefined;
  front.server.prependListener('request', (_req, res: ServerResponse) => (atFront = res));
  const response = await new Promise<IncomingMessage>((resolve) => {
    request(front.address, { headers: IN_SESSION }, resolve).end();
  });
  await vi.waitFor(() => expect(atFront?.writableNeedDrain).toBe(true));
  expect(atFront?.writableLength).toBeLessThan(4 << 20);
  expect(written).toBeLessThan(total);
  let read = 0;
  for await (const part of response) read += (part as Buffer).length;
  expect(read).toBe(total << 20);
});

interface Handed {
  complete: boolean;
  mayHaveArrived: boolean;
}

/** A pair whose owner notes which responses were handed over. */
async function noting(body: string): Promise<Pair & { handed: Handed[] }> {
  const handed: Handed[] = [];
  const both = await pair((_req, res) => {
    listenToResponse(res, {
      onHandedOver: (complete, mayHaveArrived) => void handed.push({ complete, mayHaveArrived }),
    });
    respondJson(res, 200, body);
  });
  return { ...both, handed };
}

test('K-3: the owner is told after the client has the response', async () => {
  const { front, owner, handed, clock } = await noting('{"a":1}');
  let requests = 0;
  owner.server.on('request', () => (requests += 1));
  await post(front.address, CALL, IN_SESSION);
  expect(handed).toEqual([]);
  await until(clock, () => handed.length > 0);
  expect(handed).toEqual([{ complete: true, mayHaveArrived: false }]);
  expect(requests).toBe(2);
  expect(front.forwards).toEqual(['answered']);
  // The confirmation itself needs none.
  expect(owner.cluster.unconfirmed).toBe(0);
});

test('K-3: the next request confirms the earlier responses to the owner', async () => {
  const { front, owner, handed } = await noting('{"a":1}');
  let requests = 0;
  owner.server.on('request', () => (requests += 1));
  for (let i = 0; i < 3; i += 1) await post(front.address, CALL, IN_SESSION);
  expect(handed).toEqual([1, 2].map(() => ({ complete: true, mayHaveArrived: false })));
  expect(requests).toBe(3);
});

test('K-3: a response that the client did not read does not count as delivered', async () => {
  const { front, handed, clock } = await noting(JSON.stringify('x'.repeat(30_000_000)));
  const sent = request(front.address, { headers: IN_SESSION });
  sent.on('error', () => {}).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  sent.destroy();
  await until(clock, () => handed.length > 0);
  expect(handed[0]?.complete).toBe(false);
});

test('K-3: a response that arrives after its client has left does not count as delivered', async () => {
  const handed: boolean[] = [];
  let proxy: TcpProxy | undefined;
  let hasArrived = false;
  const { front, owner, ownership, clock } = await pair((_req, res) => {
    hasArrived = true;
    // It has left the owner, but has not arrived.
    proxy?.hold();
    listenToResponse(res, { onHandedOver: (complete) => void handed.push(complete) });
    respondJson(res, 200, '{"a":1}');
  });
  const held = await TcpProxy.start(Number(new URL(owner.address).port));
  defer(async () => held.close());
  proxy = held;
  ownership.owners.set('s1', { id: 'owner', address: `http://127.0.0.1:${held.port}` });
  const sent = request(front.address, { headers: IN_SESSION });
  sent.on('error', () => {}).end();
  await vi.waitFor(() => expect(hasArrived).toBe(true));
  sent.destroy();
  await vi.waitFor(() => expect(front.cluster.forwarding).toBe(0));
  expect(handed).toEqual([]);
  held.release();
  await until(clock, () => handed.length > 0);
  expect(handed).toEqual([false]);
});

test('K-3: if a gateway dies while it forwards a response, the delivery is uncertain', async () => {
  const { owner, handed } = await noting('{"a":1}');
  const fields = { principal: 'ann', sender: 'x', recipient: 'owner', key: 's1', connection: 1 };
  const header = forwardedHeader(Buffer.alloc(32, 1), { method: 'GET', path: '/' }, fields, 1_000_000);
  const agent = new Agent({ keepAlive: true });
  const sent = request(owner.address, { agent, headers: { ...IN_SESSION, [FORWARDED]: header, [DELIVERY]: '1' } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  expect(handed).toEqual([]);
  agent.destroy();
  await vi.waitFor(() => expect(handed).toEqual([{ complete: false, mayHaveArrived: true }]));
});

test.each(['before the response', 'in the middle of it'])(
  'K-3: the owner is notified that the client has left %s',
  async (when) => {
    let left = false;
    let arrived = false;
    const { front } = await pair((_req, res) => {
      arrived = true;
      res.once('close', () => (left = true));
      if (when !== 'before the response') res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    });
    const sent = request(front.address, { method: 'POST', headers: IN_SESSION });
    sent.on('error', () => {}).end('{}');
    if (when === 'before the response') await vi.waitFor(() => expect(arrived).toBe(true));
    else (await once(sent, 'response').then(([response]) => response as IncomingMessage)).on('error', () => {});
    expect(left).toBe(false);
    sent.destroy();
    await vi.waitFor(() => expect(left).toBe(true));
    await vi.waitFor(() => expect(front.cluster.forwarding).toBe(0));
  },
);

test('K-3: connections to the owner are reused', async () => {
  const { front, owner } = await pair((_req, res) => respondJson(res, 200, '{}'));
  let connections = 0;
  owner.server.on('connection', () => (connections += 1));
  for (let i = 0; i < 5; i += 1) await post(front.address, CALL, IN_SESSION);
  expect(connections).toBe(1);
});

test('K-3: if the owner has lost the session and refuses, the request is served elsewhere', async () => {
  const { front, owner, ownership, clock } = await pair((_req, res) => {
    ownership.owners.delete('s1');
    owner.cluster.refuse(res);
  });
  expect((await answerOf(clock, post(front.address, CALL, IN_SESSION))).text).toBe('{"served":"front"}');
  expect(front.logs.map(({ event }) => event)).toEqual(['forward_failed']);
  expect(front.forwards).toEqual(['refused']);
  await until(clock, () => owner.cluster.unconfirmed === 0);
});

test('K-3: a request to an unreachable owner is served here after the lease of the owner has ended', async () => {
  const { front, ownership, clock, tried } = await pair(() => {});
  ownership.owners.set('s1', { id: 'gone', address: 'http://127.0.0.1:1' });
  const answered = post(front.address, CALL, IN_SESSION);
  await until(clock, () => tried() >= 3);
  ownership.owners.delete('s1');
  expect((await answerOf(clock, answered)).text).toBe('{"served":"front"}');
  await vi.waitFor(() => expect(front.forwards).toEqual(['unreachable']));
});

test.each([
  ['cannot be reached', { id: 'gone', address: 'http://127.0.0.1:1' }],
  ['has no address', { id: 'on-stdio' }],
])('K-3: a client gets status 503 if the owner is alive but %s', async (_what, owner) => {
  const { front, ownership, clock } = await pair(() => {});
  ownership.owners.set('s1', owner);
  const answer = await answerOf(clock, post(front.address, CALL, IN_SESSION));
  expect(answer).toMatchObject({ status: 503, json: { id: 1 }, headers: { 'retry-after': '1' } });
  expect(front.logs.find(({ event }) => event === 'owner_unreachable')?.data).toMatchObject(owner);
  // Once, however often it was tried.
  expect(front.forwards).toEqual(['unreachable']);
});

/** A gateway that takes a request and ends. */
async function dying(beforeEnd: (socket: Socket) => void = () => {}): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      beforeEnd(socket);
      setImmediate(() => socket.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('K-3: a request that may have run is not repeated, and its client gets an error', async () => {
  const { front, ownership, tried } = await pair(() => {});
  ownership.owners.set('s1', { id: 'dying', address: await dying() });
  const answer = await post(front.address, CALL, IN_SESSION);
  expect(answer).toMatchObject({ status: 200, json: { jsonrpc: '2.0', id: 1 } });
  expect(errorOf(answer)).toEqual({
    code: -32000,
    message:
      'the gateway that had the session was lost while this request was open; list_tasks shows whether it became a task',
  });
  expect(tried()).toBe(1);
  const batch = await post(front.address, [CALL, { jsonrpc: '2.0', method: 'n' }, { ...CALL, id: 'b' }], IN_SESSION);
  const replies = JSON.parse(batch.text) as { id: unknown }[];
  expect(replies.map(({ id }) => id)).toEqual([1, 'b']);
  const notified = await post(front.address, { jsonrpc: '2.0', method: 'notifications/cancelled' }, IN_SESSION);
  expect(notified).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
});

test('K-3: a lost GET for a stream is repeated', async () => {
  const { front, ownership, clock } = await pair(() => {});
  ownership.owners.set('s1', { id: 'dying', address: await dying(() => void ownership.owners.delete('s1')) });
  const answering = send(front.address, { method: 'GET', headers: IN_SESSION });
  expect((await answerOf(clock, answering)).text).toBe('{"served":"front"}');
  expect(front.logs.map(({ event }) => event)).toEqual(['forwarded_request_lost']);
  expect(front.forwards).toEqual(['broken']);
});

test('K-3: a stream breaks off when its gateway is lost, and the client can resume it', async () => {
  const { front, owner } = await pair((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\ndata: one\n\n');
  });
  const response = await new Promise<IncomingMessage>((resolve) => {
    request(front.address, { headers: IN_SESSION }, resolve).end();
  });
  await once(response, 'data');
  owner.server.closeAllConnections();
  await expect(once(response, 'end')).rejects.toThrow('aborted');
  await vi.waitFor(() => expect(front.forwards).toEqual(['broken']));
});

test('K-3: a request to a gateway that does not respond ends when that gateway has lost its lease', async () => {
  let arrived = 0;
  const { front, ownership, clock } = await pair(() => void (arrived += 1));
  const answered = post(front.address, CALL, IN_SESSION);
  await vi.waitFor(() => expect(arrived).toBe(1));
  clock.advance(10_000);
  await vi.waitFor(() => expect(ownership.asked).toBe(1));
  expect(front.cluster.forwarding).toBe(1);
  ownership.owners.set('s1', { id: 'front', address: front.address });
  clock.advance(10_000);
  expect(errorOf(await answered).message).toContain('was lost');
});

test('K-3: a request is not forwarded if its client leaves during the lookup of the owner', async () => {
  const ownership = new Ownership();
  const clock = new TestClock();
  let arrived = false;
  const owner = await testPeer('owner', ownership, () => void (arrived = true), { clock });
  let found!: () => void;
  let tried = false;
  let hasLeft = false;
  const lookUp = async (_req: IncomingMessage, res: ServerResponse): Promise<void> => {
    tried = true;
    res.once('close', () => (hasLeft = true));
    await new Promise<void>((resolve) => (found = resolve));
    throw new OwnedElsewhere('s1', { id: 'owner', address: owner.address });
  };
  const front = await testPeer('front', ownership, lookUp, { clock });
  const sent = request(front.address, { method: 'POST', headers: IN_SESSION });
  sent.on('error', () => {}).end('{}');
  await vi.waitFor(() => expect(tried).toBe(true));
  sent.destroy();
  await vi.waitFor(() => expect(hasLeft).toBe(true));
  found();
  let isOver = false;
  const drained = front.cluster.drain(3_600_000).then(() => (isOver = true));
  await until(clock, () => isOver);
  await drained;
  expect([arrived, front.cluster.forwarding]).toEqual([false, 0]);
});

test('K-5: a forwarded initialize may take longer than a lease', async () => {
  const ownership = new Ownership();
  const clock = new TestClock();
  let response: ServerResponse | undefined;
  const owner = await testPeer('owner', ownership, (_req, res) => void (response = res), { clock });
  const there = { id: 'owner', address: owner.address };
  ownership.owners.set('s1', there);
  const front = await testPeer(
    'front',
    ownership,
    ({ headers }) => {
      throw new OwnedElsewhere(String(headers['mcp-session-id'] ?? ''), there);
    },
    { clock },
  );
  const initializing = post(front.address, { jsonrpc: '2.0', id: 1, method: 'initialize' });
  await vi.waitFor(() => expect(response).toBeDefined());
  const first = response;
  const calling = post(front.address, CALL, IN_SESSION);
  await vi.waitFor(() => expect(response).not.toBe(first));
  clock.advance(10_000);
  // The call is checked after the initialize.
  await vi.waitFor(() => expect(ownership.asked).toBe(1));
  expect(front.cluster.forwarding).toBe(2);
  for (const res of [first, response]) if (res) respondJson(res, 200, '{"late":1}');
  expect([(await initializing).text, (await calling).text]).toEqual(['{"late":1}', '{"late":1}']);
});

test('K-5: a batch with a tool call counts as a call', async () => {
  const { front } = await pair(() => {});
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
  expect([CALL, [ping, CALL], ping, [ping], []].map((each) => front.cluster.beginsCall(each))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('K-4: a request to another gateway ends with its signal, or when the response is too large', async () => {
  const chunk = Buffer.alloc(1 << 20, 'x');
  let asked = 0;
  let hasEnded = false;
  const endless = createHttpServer((_req, res) => {
    asked += 1;
    res.once('close', () => (hasEnded = true));
    res.writeHead(200);
    const more = (): void => {
      while (!res.destroyed && res.write(chunk));
    };
    res.on('drain', more);
    more();
  }).listen(0, '127.0.0.1');
  await once(endless, 'listening');
  defer(async () => void endless.close());
  let neighbours: Neighbours | undefined;
  const announce = async (_address: string, given: Neighbours) => void (neighbours = given);
  const front = await testPeer('front', new Ownership(), () => {}, { announce });
  await front.cluster.announce(front.address, undefined);
  const to = { id: 'endless', address: `http://127.0.0.1:${(endless.address() as AddressInfo).port}` };
  await expect(neighbours?.ask(to, 'ann', { ask: 'left', tasks: 'all' }, AbortSignal.abort())).rejects.toThrow(/abort/);
  expect(asked).toBe(0);
  await expect(neighbours?.ask(to, 'ann', { ask: 'left', tasks: 'all' })).rejects.toThrow('its answer is larger than');
  await vi.waitFor(() => expect(hasEnded).toBe(true));
});

test('K-3, K-5: a stopping gateway waits for forwarded requests, but not for subscriptions/listen streams', async () => {
  const open: ServerResponse[] = [];
  const { front, clock, ownership, owner } = await pair((_req, res) => void open.push(res));
  ownership.owners.set('states:ann', { id: 'owner', address: owner.address });
  const answering = post(front.address, CALL, IN_SESSION);
  const listening = openStream(front.address, {
    method: 'POST',
    headers: { ...IN_SESSION, 'mcp-method': 'subscriptions/listen' },
  });
  listening.catch(() => {});
  await vi.waitFor(() => expect(open).toHaveLength(2));
  let isDrained = false;
  const draining = front.cluster.drain(5000).then(() => (isDrained = true));
  clock.advance(1000);
  expect(isDrained).toBe(false);
  for (const res of open) if (res.req.headers['mcp-method'] === undefined) respondJson(res, 200, '{"late":1}');
  expect((await answering).text).toBe('{"late":1}');
  await until(clock, () => isDrained);
  await draining;
});

test('K-3: a client cannot forge the header of a forwarded request', async () => {
  let served = false;
  const { front } = await pair(() => void (served = true));
  const fields = { principal: 'root', sender: 'x', recipient: 'front', key: 's1', connection: 1 };
  const request = { method: 'POST', path: '/' };
  const headers = { ...IN_SESSION, [FORWARDED]: forwardedHeader(Buffer.alloc(32), request, fields, 1_000_000) };
  const answer = await post(front.address, CALL, headers);
  expect(answer.status).toBe(403);
  expect(served).toBe(false);
});

test('K-3: a gateway refuses a forwarded request for another recipient or another session', async () => {
  let served = false;
  const { front } = await pair(() => void (served = true));
  const attempt = async (changed: object): Promise<number> => {
    const fields = { principal: 'ann', sender: 'x', recipient: 'front', key: 's1', connection: 1 };
    const request = { method: 'GET', path: '/' };
    const header = forwardedHeader(Buffer.alloc(32, 1), request, { ...fields, ...changed }, 1_000_000);
    const { status } = await send(front.address, { method: 'GET', headers: { ...IN_SESSION, [FORWARDED]: header } });
    return status;
  };
  expect(await attempt({ recipient: 'owner' })).toBe(421);
  expect(await attempt({ key: 's2' })).toBe(403);
  expect(await attempt({ key: 'states:bob' })).toBe(403);
  expect(served).toBe(false);
});

test('K-3: clients of another gateway are distinguished by their connections', async () => {
  const ownership = new Ownership();
  const clock = new TestClock();
  const { cluster, address, server } = await testPeer('owner', ownership, () => {}, { clock });
  const seen: { destroyed: boolean }[] = [];
  server.removeAllListeners('request').on('request', (req: IncomingMessage, res: ServerResponse) => {
    const received = cluster.receive(req, res);
    if (received !== undefined) seen.push(received.connection);
    res.end();
  });
  for (const [sender, connection] of [
    ['a', 1],
    ['a', 2],
    ['b', 1],
    ['a', 1],
  ] as const) {
    const fields = { principal: 'ann', sender, recipient: 'owner', key: 's1', connection };
    const header = forwardedHeader(Buffer.alloc(32, 1), { method: 'GET', path: '/' }, fields, clock.now());
    await send(address, { method: 'GET', headers: { ...IN_SESSION, [FORWARDED]: header } });
  }
  expect(new Set(seen).size).toBe(3);
  expect(seen[3]).toBe(seen[0]);
  expect(seen.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false]);
  clock.advance(66_000);
  expect(seen.map(({ destroyed }) => destroyed)).toEqual([true, true, true, true]);
});

test('K-3: a gateway checks at the start that it is reachable at its advertised address', async () => {
  const ownership = new Ownership();
  const announced: string[] = [];
  const announce = async (address: string) => void announced.push(address);
  const one = await testPeer('one', ownership, () => {}, { announce });
  const two = await testPeer('two', ownership, () => {}, { announce });
  await one.cluster.announce(`${one.address}/mcp`, undefined);
  expect(announced).toEqual([one.address]);
  expect(one.logs).toEqual([
    expect.objectContaining({ event: 'advertised', data: { address: one.address, gateway: 'one' } }),
  ]);
  await expect(two.cluster.announce(`${two.address}/mcp`, `${one.address}/`)).rejects.toThrow(
    /another gateway already answers .*--advertise/,
  );
  expect(announced).toHaveLength(1);
  await two.cluster.announce(`${two.address}/mcp`, 'http://127.0.0.1:1');
  expect(announced).toEqual([one.address, 'http://127.0.0.1:1']);
  expect(two.logs[0]).toMatchObject({
    event: 'advertise_unreachable',
    data: {
      address: 'http://127.0.0.1:1',
      error: expect.stringContaining('ECONNREFUSED'),
      fix: expect.stringContaining('--advertise'),
    },
  });
});

test('K-3: a gateway with a loopback address logs a warning about gateways on other machines', async () => {
  const ownership = new Ownership();
  const { cluster, logs, address } = await testPeer('one', ownership, () => {});
  const warned = async (other: string): Promise<unknown> => {
    ownership.owners.set('s1', { id: 'other', address: other });
    logs.length = 0;
    await cluster.announce(address, undefined);
    return logs.find(({ event }) => event === 'advertise_unreachable')?.data;
  };
  expect(await warned('http://localhost:8080')).toBeUndefined();
  expect(await warned(gatewayOrigin('http://0.0.0.0:8080'))).toBeUndefined();
  expect(await warned('http://gateway-2.example:8080')).toMatchObject({
    address,
    error: expect.stringContaining('http://gateway-2.example:8080'),
    fix: expect.stringContaining('--advertise'),
  });
});

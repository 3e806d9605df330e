/** Two gateways on one database. Whichever a client talks to, its requests are served by the gateway that has its session. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { forwardedHeader } from '../../../src/north/cluster/forwarded-header.ts';
import { FORWARDED } from '../../../src/north/http/addressed.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { PostgresServer } from '../../postgres/server.ts';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { parseOpenMetrics, valueOf } from '../../support/openmetrics.ts';
import { defer, owned } from '../../support/owned.ts';
import { portToReturnTo } from '../../support/port-to-return-to.ts';
import {
  errorOf,
  firstEvents,
  modernCall,
  modernHeaders,
  openStream,
  post,
  postAndLeave,
  rawSession,
  replyOf,
  send,
  toolCall,
} from '../../support/raw-http.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { whoIs } from '../direct/matrix/answers.ts';
import { oddServer } from '../robust/odd-server.ts';
import type { Fetch, Open } from '../direct/matrix/client.ts';
import { extTasks } from '../direct/matrix/clients/ext-tasks.ts';
import { v1Asked, v1Tasks } from '../direct/matrix/clients/v1.ts';
import { v2Asked, v2Rounds } from '../direct/matrix/clients/v2.ts';

let postgres: PostgresServer;
let admin: Database;

beforeAll(async () => {
  postgres = await PostgresServer.start();
  admin = await Database.open(postgres.url());
}, 120_000);
beforeEach(async () => admin.script('DROP SCHEMA IF EXISTS meanwhile CASCADE'));
afterAll(async () => {
  await admin.close();
  await postgres.remove();
});

interface Two {
  server: V1Http;
  /** The first to be asked, and so the owner. */
  a: TestGateway;
  b: TestGateway;
  /** For the other one, it is as if the first had been killed, and its lease had ended. */
  loseA: () => Promise<void>;
}

async function twoGateways(settings: SettingsInput = {}): Promise<Two> {
  const server = owned(await startV1Http());
  const shared = { store: postgres.url(), cluster: { drainMs: 0 }, ...settings };
  const servers = { one: { url: server.url } };
  const port = portToReturnTo();
  const proxy = await TcpProxy.start(port);
  let isClosed = false;
  const closeProxy = async (): Promise<void> => {
    if (!isClosed) await proxy.close();
    isClosed = true;
  };
  defer(closeProxy);
  const a = await httpGateway(servers, { ...shared, port, advertise: `http://127.0.0.1:${proxy.port}` });
  const b = await httpGateway(servers, shared);
  const loseA = async (): Promise<void> => {
    await closeProxy();
    await admin.run('DELETE FROM meanwhile.leases WHERE gateway = $1', [String(a.gateway.store.cluster?.gatewayId)]);
  };
  return { server, a, b, loseA };
}

/** Sends each request to the next gateway. */
function inTurn(...gateways: TestGateway[]): Fetch {
  let turn = 0;
  return async (url, init) => {
    const gateway = gateways[turn % gateways.length];
    turn += 1;
    const { pathname, search } = new URL(url);
    return fetch(new URL(`${pathname}${search}`, gateway?.url), init);
  };
}

const sessionsOf = (...gateways: TestGateway[]): number[] => gateways.map(({ gateway }) => gateway.sessions.length);

test.each<[string, Open]>([
  ['v1', v1Asked],
  ['v1 with tasks', v1Tasks],
  ['v2, initialize-based', v2Asked],
  ['v2, 2026-07-28', v2Rounds],
  ['2026-07-28 with tasks', extTasks],
])(
  'K-1, K-3: a client (%s) that uses another gateway for each request can call tools and answer',
  async (_kind, open) => {
    const { a, b } = await twoGateways();
    const client = await open({ url: `${a.url}/one` }, inTurn(a, b));
    for (const text of ['one', 'two', 'three']) {
      expect((await client.call('echo', { text })).content).toEqual([{ type: 'text', text }]);
    }
    for (const name of ['Ada', 'Bob']) {
      const { content } = await client.call('ask', { message: whoIs(name) });
      expect(content).toEqual([{ type: 'text', text: `Hello ${name}` }]);
    }
    expect(client.asked.map(({ name }) => name)).toEqual(['Ada', 'Bob']);
    const all = await Promise.all(
      ['x', 'y', 'z'].map(async (name) => client.call('ask', { message: whoIs(name), ms: 20 })),
    );
    expect(all.map(({ content }) => content)).toEqual(
      ['x', 'y', 'z'].map((name) => [{ type: 'text', text: `Hello ${name}` }]),
    );
    await client.close();
    expect(sessionsOf(a, b).filter((count) => count > 0).length).toBeLessThanOrEqual(1);
  },
);

const STEPS = { server: 'one', tool: 'slow', args: { ms: 400, steps: 4, text: 'slept' }, timeout_ms: 20_000 };

test('K-3: a modern client gets progress from another gateway', async () => {
  const { a, b } = await twoGateways();
  await (await hubOverHttp(a.url, 'modern')).call('list_servers');
  const hub = await hubOverHttp(b.url, 'modern');
  const heard: number[] = [];
  const reply = await hub.call('execute_tool', STEPS, { onprogress: ({ progress }) => heard.push(progress) });
  expect(reply.text).toBe('slept');
  expect(heard.length).toBeGreaterThanOrEqual(3);
  expect(sessionsOf(b)).toEqual([0]);
});

test('K-3: a client with a session gets progress from another gateway without delay', async () => {
  const { a, b } = await twoGateways();
  const { headers } = await rawSession(a.url);
  const params = { name: 'execute_tool', arguments: STEPS, _meta: { progressToken: 7 } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 99, method: 'tools/call', params });
  const stream = await openStream(b.url, { method: 'POST', headers, body });
  expect(stream.headers['content-type']).toBe('text/event-stream');
  await firstEvents(stream, 2);
  expect(stream.events.map(({ data }) => data).join()).not.toContain('slept');
  await stream.ended;
  const told = stream.events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data) as Json);
  expect(told.filter(({ method }) => method === 'notifications/progress').length).toBeGreaterThanOrEqual(3);
  expect(told.at(-1)?.['id']).toBe(99);
  expect(sessionsOf(b)).toEqual([0]);
});

test('K-3: a stream is resumed at another gateway without loss', async () => {
  const { a, b } = await twoGateways();
  const { headers } = await rawSession(a.url);
  const slow = { name: 'execute_tool', arguments: { server: 'one', tool: 'slow', args: { ms: 700, text: 'slept' } } };
  const call = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: slow };
  const stream = await openStream(b.url, { method: 'POST', headers, body: JSON.stringify(call) });
  const [{ id = '' } = {}] = await firstEvents(stream, 1);
  stream.destroy();
  const rest = await openStream(b.url, { headers: { ...headers, 'last-event-id': id } });
  await rest.ended;
  const told = rest.events.filter(({ data }) => data !== '');
  expect(told.map(({ data }) => JSON.parse(data) as unknown)).toEqual([expect.objectContaining({ id: 5 })]);
});

test('K-3: large requests and results are forwarded', async () => {
  const { a, b } = await twoGateways();
  const { headers } = await rawSession(a.url);
  const text = 'ä'.repeat(1_000_000);
  const sent = await post(b.url, toolCall('execute_tool', { server: 'one', tool: 'echo', args: { text } }), headers);
  expect(replyOf(sent).text).toBe(text);
  const tooLarge = await twoGateways({ limits: { bodyBytes: 2048 } });
  const { headers: ofOther } = await rawSession(tooLarge.a.url);
  const refused = await post(
    tooLarge.b.url,
    toolCall('execute_tool', { server: 'one', tool: 'echo', args: { text } }),
    ofOther,
  );
  expect(refused.status).toBe(413);
});

test.each(['legacy', 'modern'])(
  'K-3: the owning gateway notices that a %s client left, and keeps the result of its call',
  async (era) => {
    const { server, a, b } = await twoGateways();
    const slow = { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 55_000 };
    let left: ReturnType<typeof postAndLeave>;
    if (era === 'legacy') {
      const { headers } = await rawSession(a.url);
      left = postAndLeave(b.url, toolCall('execute_tool', slow), headers);
    } else {
      await post(a.url, modernCall('list_servers'), modernHeaders('list_servers'));
      left = postAndLeave(b.url, modernCall('execute_tool', slow, 2), modernHeaders('execute_tool'));
    }
    await vi.waitFor(() => expect(server.state.calls.map(({ tool }) => tool)).toContain('slow'), { timeout: 10_000 });
    left.destroy();
    const [session] = a.gateway.sessions;
    await vi.waitFor(() => expect(session?.tasks.list().map(({ status }) => status)).toEqual(['working']), {
      timeout: 10_000,
    });
    expect(sessionsOf(b)).toEqual([0]);
  },
);

test('K-3: a task can be followed, answered and cancelled at any gateway', async () => {
  const { a, b } = await twoGateways();
  const atA = await hubOverHttp(a.url, 'modern');
  const atB = await hubOverHttp(b.url, 'modern');
  const task = taskIdOf(await atA.call('execute_tool', { server: 'one', tool: 'ask', args: {}, timeout_ms: 5000 }));
  const { elicitations } = await atB.call('list_tasks');
  expect(elicitations).toHaveLength(1);
  const answer = { request_id: elicitations[0]?.requestId, action: 'accept', content: { name: 'Eve' } };
  await atB.call('respond_to_elicitation', answer);
  await vi.waitFor(async () => expect((await atB.call('get_task_result', { task_id: task })).text).toBe('Hello Eve'), {
    timeout: 10_000,
  });
});

test('K-3: a gateway does not forward a request that was forwarded to it', async () => {
  const { a, b } = await twoGateways();
  const { headers, id } = await rawSession(a.url);
  const { cluster } = b.gateway.store;
  if (cluster === undefined) throw new Error('no cluster');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const fields = {
    principal: 'local',
    sender: 'x',
    recipient: cluster.gatewayId,
    key: id,
    connection: 1,
  };
  const header = forwardedHeader(cluster.key, { method: 'POST', path: '/mcp' }, fields, Date.now());
  const answer = await send(b.url, { headers: { ...headers, [FORWARDED]: header }, body });
  expect(answer.status).toBe(421);
  expect(sessionsOf(a, b)).toEqual([1, 0]);
});

test('K-5: an initialize that is forwarded to a stopping gateway is refused with HTTP 421', async () => {
  const { b } = await twoGateways();
  const { cluster } = b.gateway.store;
  if (cluster === undefined) throw new Error('no cluster');
  const fields = { principal: 'local', sender: 'x', recipient: cluster.gatewayId, key: '', connection: 1 };
  const header = forwardedHeader(cluster.key, { method: 'POST', path: '/mcp' }, fields, Date.now());
  await b.gateway.close('test');
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
  expect((await post(b.url, message, { [FORWARDED]: header })).status).toBe(421);
});

test('K-3, P-4: the first gateway checks the token, and the owning gateway the session', async () => {
  const tokens = { ann: 'ann-0123456789abcdef', bob: 'bob-0123456789abcdef' };
  const { a, b } = await twoGateways({ auth: { tokens } });
  const as = (name: keyof typeof tokens) => ({ authorization: `Bearer ${tokens[name]}` });
  const ann = await rawSession(a.url, as('ann'));
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  expect((await post(b.url, ping, ann.headers)).status).toBe(200);
  expect((await post(b.url, ping, { ...ann.headers, ...as('bob') })).status).toBe(404);
  expect((await post(b.url, ping, { ...ann.headers, authorization: 'Bearer no' })).status).toBe(401);
  // With the header of a gateway, but without its key.
  const forged = { ...ann.headers, authorization: '', [FORWARDED]: 'ann,x,y,z,1,1,1,AAAA' };
  expect((await post(b.url, ping, forged)).status).toBe(403);
  const page = await post(b.url, ping, { ...ann.headers, origin: 'http://localhost:5173' });
  expect(page.headers).toMatchObject({ 'access-control-allow-origin': 'http://localhost:5173', vary: 'origin' });
});

test.each(['legacy', 'modern'])('K-3: the sessions of a lost gateway are taken over (%s)', async (era) => {
  const { a, b, loseA } = await twoGateways();
  const ask = { server: 'one', tool: 'slow', args: { ms: 50, text: 'kept' }, timeout_ms: 5 };
  const legacy = era === 'legacy' ? await rawSession(a.url) : undefined;
  const call = async (url: string, tool: string, args: object, id: number) =>
    legacy === undefined
      ? post(url, modernCall(tool, { ...args }, id), modernHeaders(tool))
      : post(url, toolCall(tool, { ...args }, id), legacy.headers);
  const task = taskIdOf(replyOf(await call(a.url, 'execute_tool', ask, 1)));
  await vi.waitFor(() => expect(a.gateway.sessions[0]?.tasks.find(task)?.status).toBe('completed'), {
    timeout: 10_000,
  });
  await a.gateway.store.settled();
  await loseA();
  expect(replyOf(await call(b.url, 'get_task_result', { task_id: task }, 2)).text).toBe('kept');
});

test.each<[string, Open]>([
  ['v1', v1Asked],
  ['v2', v2Asked],
  ['2026-07-28', v2Rounds],
])('K-3: a plain call on a lost gateway fails with the reason (%s client)', async (_kind, open) => {
  const { server, a, b, loseA } = await twoGateways();
  const client = await open({ url: `${a.url}/one` }, inTurn(a, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b));
  const calling = client.call('slow', { ms: 60_000 });
  calling.catch(() => {});
  await vi.waitFor(() => expect(server.state.calls.map(({ tool }) => tool)).toContain('slow'), { timeout: 10_000 });
  await loseA();
  await expect(calling).rejects.toThrow(/while this request was open/);
});

test('K-3: a second gateway at the same address is refused, and an unreachable address is a warning', async () => {
  const { a } = await twoGateways();
  const address = new URL(a.url).origin;
  const settings = { store: postgres.url(), advertise: address };
  await expect(httpGateway({}, settings)).rejects.toThrow(`another gateway already answers at ${address}`);
  const c = await httpGateway({}, { ...settings, advertise: 'http://127.0.0.1:1' });
  expect(c.logs.map(({ event }) => event)).toEqual(expect.arrayContaining(['advertise_unreachable', 'advertised']));
  const { headers } = await rawSession(a.url);
  expect(errorOf(await post(c.url, { jsonrpc: '2.0', id: 1, method: 'ping' }, headers))).toEqual({});
});

test('V-1: a forwarded request is counted by the forwarding gateway', async () => {
  const { a, b } = await twoGateways();
  const metrics = async ({ url }: TestGateway): Promise<ReturnType<typeof parseOpenMetrics>> =>
    parseOpenMetrics((await send(url.replace(/\/mcp$/, '/metrics'), { method: 'GET', headers: {} })).text);
  const forwarded = async (gateway: TestGateway): Promise<number> =>
    valueOf(await metrics(gateway), 'meanwhile_forwarded_requests_total', { outcome: 'answered' });
  expect([await forwarded(a), await forwarded(b)]).toEqual([0, 0]);
  const { headers } = await rawSession(a.url);
  await post(b.url, toolCall('list_servers'), headers);
  await post(a.url, toolCall('list_servers'), headers);
  await vi.waitFor(async () => expect([await forwarded(a), await forwarded(b)]).toEqual([0, 1]));
  const stored = { outcome: 'stored' };
  expect(valueOf(await metrics(a), 'meanwhile_store_commit_seconds_count', stored)).toBeGreaterThan(0);
});

/** A question of a client that cannot be asked, at the endpoint of a server. */
async function askedAt({ url }: TestGateway): Promise<Promise<string>> {
  const { headers } = await rawSession(`${url}/one`);
  const answer = post(`${url}/one`, toolCall('ask', { message: 'Who?' }), headers);
  return answer.then((reply) => replyOf(reply).text);
}

test.each(['v1', 'modern'] as const)(
  'K-4: a question at one gateway is listed, reported and answered at another (%s hub)',
  async (era) => {
    const { a, b } = await twoGateways();
    const hub = await hubOverHttp(b.url, era);
    await hub.call('list_servers');
    const told = (async () => {
      for (;;) {
        const { body } = await hub.call('await_activity', { timeout_ms: 20_000 });
        if (JSON.stringify(body).includes('"elicitation_request"')) return body;
      }
    })();
    const asking = askedAt(a);
    expect(await told).toMatchObject({ pending_client: { elicitations: [{ server: 'one' }] } });
    const { elicitations } = (await hub.call('get_elicitations')).body as { elicitations: { requestId: string }[] };
    expect(elicitations).toMatchObject([{ server: 'one' }]);
    const answer = { request_id: elicitations[0]?.requestId, action: 'accept', content: { name: 'Eve' } };
    expect((await hub.call('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
    expect(await asking).toBe('Hello Eve');
    expect((await hub.call('respond_to_elicitation', answer)).isError).toBe(true);
  },
);

test('K-4: of two simultaneous answers at two gateways one is accepted, and the other gets an error', async () => {
  const { a, b } = await twoGateways();
  const [atA, atB] = [await hubOverHttp(a.url, 'v1'), await hubOverHttp(b.url, 'v1')];
  const hubs = [atA, atB];
  const asking = askedAt(a);
  const seen = async (): Promise<{ requestId: string }[]> =>
    ((await atB.call('get_elicitations')).body as { elicitations: { requestId: string }[] }).elicitations;
  await vi.waitFor(async () => expect(await seen()).toHaveLength(1), { timeout: 10_000 });
  const requestId = (await seen())[0]?.requestId;
  const answers = await Promise.all(
    hubs.map(async (hub, index) =>
      hub.call('respond_to_elicitation', {
        request_id: requestId,
        action: 'accept',
        content: { name: ['Ada', 'Bob'][index] },
      }),
    ),
  );
  const taken = answers.map(({ isError }) => !isError);
  expect(taken.filter(Boolean)).toHaveLength(1);
  expect(await asking).toBe(taken[0] ? 'Hello Ada' : 'Hello Bob');
});

test('K-5: a gateway that stops finishes plain calls and hands its sessions to another gateway', async () => {
  const { server, a, b } = await twoGateways({ cluster: { drainMs: 10_000 } });
  const [busy, idle] = [await rawSession(a.url), await rawSession(a.url)];
  const slow = { server: 'one', tool: 'slow', args: { ms: 1500, text: 'done' }, timeout_ms: 20_000 };
  let isDone = false;
  const call = post(a.url, toolCall('execute_tool', slow, 7), busy.headers).finally(() => (isDone = true));
  await vi.waitFor(() => expect(server.state.calls.map(({ tool }) => tool)).toContain('slow'), { timeout: 10_000 });
  const stopped = a.close();
  await vi.waitFor(async () =>
    expect((await send(new URL('/readyz', a.url).href, { method: 'GET' })).status).toBe(503),
  );
  const echo = (text: string, id: number) =>
    toolCall('execute_tool', { server: 'one', tool: 'echo', args: { text } }, id);
  // At the gateway that is being stopped, too; of a session that it still has, only once that is left.
  const inBusy = post(b.url, echo('c', 10), busy.headers);
  const others = [post(a.url, echo('a', 8), idle.headers), post(b.url, echo('b', 9), idle.headers)];
  expect((await Promise.all(others)).map((reply) => replyOf(reply).text)).toEqual(['a', 'b']);
  expect(isDone).toBe(false);
  expect(replyOf(await inBusy).text).toBe('c');
  expect(replyOf(await call).text).toBe('done');
  await stopped;
  expect(sessionsOf(b)).toEqual([2]);
});

test('K-5: a session that is deleted while its gateway stops is ended by the next gateway', async () => {
  const held: ServerResponse[] = [];
  const slow = await oddServer({ DELETE: ({ response }) => void held.push(response) });
  const shared = { store: postgres.url(), cluster: { drainMs: 0 } };
  const servers = { slow: { url: slow.url } };
  const [a, b] = [await httpGateway(servers, shared), await httpGateway(servers, shared)];
  const { headers } = await rawSession(a.url);
  await post(a.url, toolCall('list_tools', { server: 'slow' }, 1), headers);
  const stopped = a.close();
  // The gateway ends its connections before it leaves the session.
  await expect.poll(() => held.length).toBe(1);
  const end = async (url: string): Promise<number> => (await send(url, { method: 'DELETE', headers })).status;
  expect(await end(a.url)).toBe(503);
  for (const response of held) response.writeHead(200).end();
  await stopped;
  expect(await end(b.url)).toBe(200);
  expect(await end(b.url)).toBe(404);
  for (const response of held.splice(0)) response.end();
});

test('K-6: a server added at one gateway can be used at the other', async () => {
  const { server, a, b } = await twoGateways();
  const [atA, atB] = [await hubOverHttp(a.url, 'v1'), await hubOverHttp(b.url, 'v1')];
  await atA.call('add_server', { name: 'two', url: server.url });
  await vi.waitFor(
    async () => {
      const reply = await atB.call('execute_tool', { server: 'two', tool: 'echo', args: { text: 'here' } });
      expect(reply.text).toBe('here');
    },
    { timeout: 10_000 },
  );
});

test('K-7: a question that comes while the database is down is asked when it is back', async () => {
  const { server, a } = await twoGateways();
  const client = await v1Asked({ url: `${a.url}/one` }, async (url, init) => fetch(url, init));
  await client.call('echo', { text: 'connected' });
  await postgres.down();
  try {
    const asked = client.call('ask', { message: whoIs('Ada') });
    await vi.waitFor(() => expect(server.state.calls.map(({ tool }) => tool)).toContain('ask'), { timeout: 10_000 });
    // Longer than the store is patient.
    await vi.waitFor(async () => expect(await a.gateway.store.settled().then(String, String)).toContain('Error'), {
      timeout: 10_000,
    });
    const { content } = await Promise.all([asked, postgres.up()]).then(([result]) => result);
    expect(content).toEqual([{ type: 'text', text: 'Hello Ada' }]);
  } finally {
    if (!postgres.isUp) await postgres.up();
  }
  await client.close();
});

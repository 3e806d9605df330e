import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type HubClient, type Json } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import {
  errorOf,
  INITIALIZE,
  JSON_HEADERS,
  modernCall,
  modernHeaders,
  post,
  postAndLeave,
  rawSession,
  send,
  toolCall,
} from '../../support/raw-http.ts';
import { soon } from '../flows/watch.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];

async function setup(
  settings: SettingsInput,
  kind: ClientKind = 'v1',
): Promise<{ server: V1Http; gateway: TestGateway; hub: HubClient }> {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(gateway.url, kind);
  await hub.call('list_tools');
  return { server, gateway, hub };
}

const slow = (ms: number, more: Json = {}): Json => ({ server: 'one', tool: 'slow', args: { ms }, ...more });

async function expectAlive(hub: HubClient): Promise<void> {
  const { text } = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'alive' } });
  expect(text).toBe('alive');
}

test('X-3: a body above the limit gets HTTP 413, with or without Content-Length', async () => {
  const { gateway, hub } = await setup({ limits: { bodyBytes: 2048 } });
  const body = JSON.stringify(toolCall('list_tools', { pattern: 'x'.repeat(5000) }));
  const said = await send(gateway.url, { headers: JSON_HEADERS, body });
  const found = await send(gateway.url, { headers: { ...JSON_HEADERS, 'transfer-encoding': 'chunked' }, body });
  // Long enough that the rest is still on its way when the limit is passed.
  const endless = Buffer.alloc(3_000_000, ' ');
  const cutOff = await send(gateway.url, {
    headers: { ...JSON_HEADERS, 'transfer-encoding': 'chunked' },
    body: endless,
  });
  for (const answer of [said, found, cutOff]) {
    expect(answer.status).toBe(413);
    expect(errorOf(answer).message).toContain('limits.bodyBytes = 2048');
  }
  await expectAlive(hub);
});

/** A client in the middle of a request with a large body. */
async function refusedRequest(
  settings: SettingsInput,
  path: string,
  framing: string,
): Promise<{ socket: Socket; received: () => string }> {
  const { url } = await httpGateway({}, settings);
  const { host, hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  defer(async () => void socket.destroy());
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
  });
  const headers = Object.entries({ ...JSON_HEADERS, host }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${path} HTTP/1.1\r\n${headers.join('')}${framing}`);
  return { socket, received: () => received };
}

const TOKENS = { auth: { tokens: { alice: 'a'.repeat(32) } } };
const ANSWER_LINKS = {
  notify: {
    targets: { hook: { type: 'webhook', url: 'http://127.0.0.1/', secret: 's'.repeat(16), answerLinks: true } },
  },
};
const LENGTH = 'content-length: 6000000\r\n\r\n';
const CHUNK = `transfer-encoding: chunked\r\n\r\n${(6_000_000).toString(16)}\r\n`;

test.each<[string, SettingsInput, { path?: string; before: string; after?: string }, number]>([
  ['too large', {}, { before: LENGTH }, 413],
  ['too large, without a length', {}, { before: CHUNK, after: '\r\n0\r\n\r\n' }, 413],
  ['without a token', TOKENS, { before: LENGTH }, 401],
  ['too large for the console', {}, { path: '/console/sign-in', before: LENGTH }, 413],
  ['without a sign-in', {}, { path: '/api/v1/questions', before: LENGTH }, 401],
  ['an answer link that does not exist', ANSWER_LINKS, { path: '/answer/unknown', before: LENGTH }, 404],
])('X-3, X-4: a client can send a refused request to its end: %s', async (_why, settings, framing, status) => {
  // If the connection were closed before that, it would be reset, and the client might not see the answer.
  const { path = '/mcp', before, after = '' } = framing;
  const { socket, received } = await refusedRequest(settings, path, before);
  socket.write(Buffer.alloc(5_000_000, ' '));
  await soon(received).toContain(`HTTP/1.1 ${status} `);
  socket.write(Buffer.alloc(1_000_000, ' '));
  socket.write(`${after}GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await soon(received).toContain('{"status":"ok"}');
});

test('X-3, X-4: the connection of a refused request closes after it, if the client wants that', async () => {
  const { socket, received } = await refusedRequest({}, '/mcp', `connection: close\r\n${LENGTH}`);
  const failed = vi.fn<(error: Error) => void>();
  socket.on('error', failed);
  await soon(received).toContain('limits.bodyBytes');
  const ended = once(socket, 'end');
  socket.write(Buffer.alloc(5_999_999, ' '));
  await soon(() => socket.writableLength).toBe(0);
  expect(socket.readableEnded).toBe(false);
  socket.write(' ');
  await ended;
  expect(received()).toMatch(/^HTTP\/1\.1 413 [^]*connection: close/i);
  expect(failed).not.toHaveBeenCalled();
});

test('X-3: a refused request that does not end is cut off', async () => {
  const { socket, received } = await refusedRequest({}, '/mcp', 'content-length: 1000000000\r\n\r\n');
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => {}).on('close', () => resolve());
  });
  await soon(received).toContain('HTTP/1.1 413 ');
  const piece = Buffer.alloc(4_000_000, ' ');
  const more = (): void => void (socket.writable && socket.write(piece, more));
  more();
  await closed;
  expect(socket.bytesWritten).toBeGreaterThan(256 * 1024 * 1024);
  expect(socket.bytesWritten).toBeLessThan(1_000_000_000);
});

test('X-3: sessions above the limit get HTTP 429, and a session that ends makes room', async () => {
  const { url } = await httpGateway({}, { sessions: { max: 2 } });
  const first = await rawSession(url);
  await rawSession(url);
  const third = await post(url, INITIALIZE);
  expect(third.status).toBe(429);
  expect(errorOf(third)).toMatchObject({
    message: expect.stringContaining('sessions.max = 2'),
    data: { code: 'TOOL_ERR_LIMIT' },
  });
  const modern = await post(url, modernCall('list_servers'), modernHeaders('list_servers'));
  expect(modern.status).toBe(429);
  expect(errorOf(modern).message).toContain('sessions.max = 2');
  expect((await first.reply('list_servers')).isError).toBe(false);
  await send(url, { method: 'DELETE', headers: first.headers });
  expect((await post(url, INITIALIZE)).status).toBe(200);
});

test.each(KINDS)('X-3, T-2: calls above tasks.perSession are refused before they start (%s)', async (kind) => {
  const { server, hub } = await setup({ tasks: { perSession: 2 } }, kind);
  const one = await hub.call('execute_tool', slow(60_000, { timeout_ms: 1 }));
  const two = await hub.call('execute_tool', slow(60_000, { timeout_ms: 1 }));
  const three = await hub.call('execute_tool', slow(60_000, { timeout_ms: 1 }));
  expect(three.code).toBe('TOOL_ERR_LIMIT');
  expect(three.text).toContain('tasks.perSession = 2');
  expect(server.state.calls).toHaveLength(2);
  await hub.call('cancel_task', { task_id: taskIdOf(one) });
  await expectAlive(hub);
  expect((await hub.call('get_task', { task_id: taskIdOf(two) })).isError).toBe(false);
});

test.each(KINDS)('X-3, T-2: many parallel calls do not count as tasks (%s)', async (kind) => {
  const { hub } = await setup({ tasks: { perSession: 2 } }, kind);
  const replies = await Promise.all(Array.from({ length: 150 }, () => hub.call('execute_tool', slow(100))));
  expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(['done']));
});

test.each(KINDS)('X-3: calls in flight are bounded by limits.requestsPerSession (%s)', async (kind) => {
  const { hub } = await setup({ limits: { requestsPerSession: 5 } }, kind);
  const replies = await Promise.all(Array.from({ length: 8 }, () => hub.call('execute_tool', slow(1000))));
  const refused = replies.filter(({ code }) => code === 'TOOL_ERR_LIMIT');
  expect(refused).toHaveLength(3);
  for (const { text } of refused) expect(text).toContain('limits.requestsPerSession');
  expect(replies.filter(({ text }) => text === 'done')).toHaveLength(5);
});

test.each(KINDS)(
  'X-3, T-2, T-4: a call that times out becomes a task although the limit is reached (%s)',
  async (kind) => {
    const { server, hub } = await setup({ tasks: { perSession: 2 } }, kind);
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => hub.call('execute_tool', slow(60_000, { timeout_ms: 1000 }))),
    );
    const ids = replies.map(taskIdOf);
    expect(new Set(ids).size).toBe(5);
    const { body } = await hub.call('list_tasks');
    expect((body['tasks'] as Json[]).map(({ task_id }) => String(task_id)).toSorted()).toEqual(ids.toSorted());
    // From now on calls are refused before they start, until enough tasks have ended.
    const refused = await hub.call('execute_tool', slow(1));
    expect(refused.code).toBe('TOOL_ERR_LIMIT');
    expect(refused.text).toContain('5 tasks of this session are still running (limit tasks.perSession = 2)');
    expect(server.state.calls).toHaveLength(5);
    for (const task_id of ids.slice(1)) await hub.call('cancel_task', { task_id });
    await expectAlive(hub);
  },
);

test('X-3: a question above questions.perSession is refused, and the others stay open', async () => {
  const { hub } = await setup({ questions: { perSession: 1 } });
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'first' } });
  const refused = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'second' } });
  expect(JSON.stringify(refused.raw)).toContain('questions.perSession = 1');
  const { elicitations } = await hub.call('list_tasks');
  expect(elicitations.map(({ message }) => message)).toEqual(['first']);
  const [question] = elicitations;
  await hub.call('respond_to_elicitation', {
    request_id: question?.requestId,
    action: 'accept',
    content: { name: 'Ada' },
  });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');
});

test('X-3: a result above limits.resultBytes is an error that says so', async () => {
  const { hub } = await setup({ limits: { resultBytes: 4096 } });
  const big = (bytes: number): Json => ({ server: 'one', tool: 'big', args: { bytes } });
  const reply = await hub.call('execute_tool', big(5000));
  expect(reply.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  expect(reply.text).toContain('limits.resultBytes = 4096');
  expect((await hub.call('execute_tool', big(3000))).text).toHaveLength(3000);
});

test.each(KINDS)('X-3: a timeout above the longest timer is refused (%s)', async (kind) => {
  const { hub } = await setup({}, kind);
  const tooLong = 2 ** 31;
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const task_id = taskIdOf(asked);
  const calls: [string, Json][] = [
    ['execute_tool', slow(1, { timeout_ms: tooLong })],
    ['execute_tool', slow(1, { task_ttl_ms: tooLong })],
    ['get_task_result', { task_id, timeout_ms: tooLong }],
    ['await_activity', { timeout_ms: tooLong }],
    ['await_activity', { timeout_ms: 1e308 }],
  ];
  for (const [tool, args] of calls) {
    const reply = await hub.call(tool, args);
    expect(reply.code, `${tool} ${JSON.stringify(args)}`).toBe('TOOL_ERR_INVALID_ARGUMENT');
  }
  const longest = await hub.call('execute_tool', slow(50, { timeout_ms: tooLong - 1 }));
  expect(longest.text).toBe('done');
});

test('X-3: a request waits at most limits.waitMs', async () => {
  const { hub } = await setup({ limits: { waitMs: 50 } });
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  const state = await hub.call('get_task_result', { task_id: taskIdOf(asked), timeout_ms: 600_000 });
  expect(state.body).toMatchObject({ task: { status: 'working' } });
  const { body } = await hub.call('await_activity', { timeout_ms: 600_000 });
  expect(body['triggers']).toEqual([{ type: 'timeout' }]);
});

test('X-3: requests above limits.requestsPerSession are refused, and the session continues', async () => {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } }, { limits: { requestsPerSession: 3 } });
  const client = await rawSession(gateway.url);
  await client.reply('list_tools');
  const [session] = gateway.gateway.sessions;
  const waiting = [1, 2, 3].map((id) =>
    postAndLeave(gateway.url, toolCall('await_activity', { timeout_ms: 60_000 }, id), client.headers),
  );
  await expect.poll(() => session?.events.counts.waiters).toBe(3);
  const refused = await client.reply('list_servers');
  expect(refused.code).toBe('TOOL_ERR_LIMIT');
  expect(refused.text).toContain('limits.requestsPerSession');
  for (const each of waiting) each.destroy();
  await expect.poll(async () => (await client.reply('list_servers')).isError).toBe(false);
});

test('X-3: a batch above its limit is refused with that reason', async () => {
  const { url } = await httpGateway({});
  const client = await rawSession(url);
  const batch = (size: number): Json[] => Array.from({ length: size }, (_, id) => toolCall('list_tasks', {}, `b${id}`));
  const full = await post(url, batch(100), client.headers);
  expect(full.status).toBe(200);
  expect(JSON.parse(full.text)).toHaveLength(100);
  const over = await post(url, batch(101), client.headers);
  expect(over.status).toBe(400);
  expect(errorOf(over).message).toContain('100');
  expect((await client.reply('list_tasks')).isError).toBe(false);
});

test('X-3: overlong names, patterns and addresses are refused', async () => {
  const { hub } = await setup({});
  const long = 'x'.repeat(100_000);
  const calls: [string, Json][] = [
    ['list_tools', { pattern: long }],
    ['read_resource', { server: 'one', uri: long }],
    ['subscribe_resource', { server: 'one', uri: long }],
    ['add_server', { name: long, url: 'http://127.0.0.1:1/' }],
    ['execute_tool', { server: long, tool: 'echo' }],
    ['execute_tool', { server: 'one', tool: long }],
    ['get_task', { task_id: long }],
    ['cancel_task', { task_id: long }],
    ['respond_to_elicitation', { request_id: long, action: 'accept' }],
    ['respond_to_sampling', { request_id: long, content: 'x' }],
    ['await_activity', { timeout_ms: 0, last_event_id: long }],
  ];
  for (const [tool, args] of calls) {
    const reply = await hub.call(tool, args);
    expect(reply.code, tool).toBe('TOOL_ERR_INVALID_ARGUMENT');
    // What is wrong is named, not repeated.
    expect(reply.text.length, tool).toBeLessThan(2000);
  }
  await expectAlive(hub);
});

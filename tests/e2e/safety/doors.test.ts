import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type Json } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import {
  errorOf,
  INITIALIZE,
  modernCall,
  modernHeaders,
  post,
  rawSession,
  send,
  toolCall,
} from '../../support/raw-http.ts';

const ALICE = 'alice-has-this-token-0001';
const BOB = 'bob-has-another-token-0002';
const TOKENS = { auth: { tokens: { alice: ALICE, bob: BOB } } };
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

const FOREIGN_HOSTS = [
  'evil.example',
  'evil.example:8080',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1@evil.example',
  '10.0.0.1',
  '0.0.0.0',
  '[::2]',
  'not a host',
];

test('X-1: a request with a foreign Host header is refused, with any method', async () => {
  const { url } = await httpGateway({});
  for (const host of FOREIGN_HOSTS) {
    const answer = await post(url, INITIALIZE, { host });
    expect(answer.status, host).toBe(403);
    expect(errorOf(answer).data).toEqual({ code: 'TOOL_ERR_NOT_ALLOWED' });
    expect(errorOf(answer).message).toContain('allowedHosts');
  }
  for (const method of ['GET', 'DELETE', 'PUT']) {
    expect((await send(url, { method, headers: { host: 'evil.example' } })).status).toBe(403);
  }
  expect(
    (await post(url, modernCall('list_servers'), { ...modernHeaders('list_servers'), host: 'evil.example' })).status,
  ).toBe(403);
});

test('X-1: local host names are accepted', async () => {
  const { url } = await httpGateway({}, { sessions: { max: 20 } });
  const { port } = new URL(url);
  for (const host of [
    'localhost',
    `localhost:${port}`,
    `127.0.0.1:${port}`,
    '127.0.0.2',
    `[::1]:${port}`,
    'LOCALHOST',
  ]) {
    expect((await post(url, INITIALIZE, { host })).status, host).toBe(200);
  }
});

test('X-1: a request with a foreign Origin header is refused', async () => {
  const { url } = await httpGateway({});
  for (const origin of [
    'https://evil.example',
    'http://localhost.evil.example',
    'null',
    'file://',
    'chrome-extension://x',
  ]) {
    const answer = await post(url, INITIALIZE, { origin });
    expect(answer.status, origin).toBe(403);
    expect(errorOf(answer).message).toContain('allowedOrigins');
  }
  for (const origin of ['http://localhost:6274', 'http://127.0.0.1:1', 'http://[::1]:1']) {
    expect((await post(url, INITIALIZE, { origin })).status, origin).toBe(200);
  }
});

test('X-1: allowedHosts and allowedOrigins accept further hosts and origins', async () => {
  const { url } = await httpGateway({}, { allowedHosts: ['gateway.example'], allowedOrigins: ['https://app.example'] });
  const let_in = { host: 'gateway.example:443', origin: 'https://app.example' };
  expect((await post(url, INITIALIZE, let_in)).status).toBe(200);
  expect((await post(url, INITIALIZE, { ...let_in, origin: 'http://app.example' })).status).toBe(403);
  expect((await post(url, INITIALIZE, { ...let_in, host: 'other.gateway.example' })).status).toBe(403);
});

test('X-1: listening on all addresses requires tokens', async () => {
  await expect(httpGateway({}, { host: '0.0.0.0' })).rejects.toThrow(
    /refusing to listen on '0\.0\.0\.0' without authentication: set meanwhile\.auth\.tokens/,
  );
  await expect(httpGateway({}, { host: '::' })).rejects.toThrow('without authentication');
  const { url } = await httpGateway({}, { host: '0.0.0.0', ...TOKENS });
  const local = url.replace('0.0.0.0', '127.0.0.1');
  expect((await post(local, INITIALIZE, bearer(ALICE))).status).toBe(200);
  expect((await post(local, INITIALIZE)).status).toBe(401);
});

test('X-1: by default the gateway listens only on 127.0.0.1', async () => {
  const { url } = await httpGateway({});
  const { hostname, port } = new URL(url);
  expect(hostname).toBe('127.0.0.1');
  // Another address of the same loopback interface: who listened on all of them would answer here.
  await expect(reach('127.0.0.2', Number(port))).resolves.toBe('ECONNREFUSED');
});

async function reach(host: string, port: number): Promise<string> {
  const socket = connect(port, host);
  defer(async () => void socket.destroy());
  return new Promise((resolve) => {
    socket.once('connect', () => resolve('connected'));
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  });
}

test('X-1: a missing, wrong or incomplete token gets HTTP 401', async () => {
  const { url } = await httpGateway({}, TOKENS);
  const wrong = [
    {},
    bearer('wrong-token-of-nobody-00'),
    bearer(ALICE.slice(0, -1)),
    bearer(`${ALICE}x`),
    bearer(''),
    { authorization: ALICE },
    { authorization: `Basic ${Buffer.from(`alice:${ALICE}`).toString('base64')}` },
  ];
  for (const headers of wrong) {
    for (const answer of [
      await post(url, INITIALIZE, headers),
      await post(url, modernCall('list_servers'), { ...modernHeaders('list_servers'), ...headers }),
      await send(url, { method: 'GET', headers: { accept: 'text/event-stream', ...headers } }),
    ]) {
      expect(answer.status, JSON.stringify(headers)).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(errorOf(answer).data).toEqual({ code: 'TOOL_ERR_UNAUTHORIZED' });
      expect(answer.text).not.toContain(ALICE);
    }
  }
  expect((await post(url, INITIALIZE, bearer(BOB))).status).toBe(200);
});

test('X-2, S-1: the session id of another principal is not found', async () => {
  const { url, gateway } = await httpGateway({}, TOKENS);
  const alice = await rawSession(url, bearer(ALICE));
  const stolen = { ...alice.headers, ...bearer(BOB) };
  const attempts = [
    await post(url, toolCall('list_tasks'), stolen),
    await send(url, { method: 'GET', headers: stolen }),
    await send(url, { method: 'DELETE', headers: stolen }),
  ];
  for (const answer of attempts) {
    expect(answer.status).toBe(404);
    expect(answer.text).not.toContain('alice');
  }
  expect(gateway.sessions).toHaveLength(1);
  expect((await alice.reply('list_tasks')).body).toEqual({ tasks: [] });
});

test('X-2, S-5: principals without sessions see only their own tasks', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, TOKENS);
  const alice = await hubOverHttp(url, 'modern', bearer(ALICE));
  const bob = await hubOverHttp(url, 'modern', bearer(BOB));
  const asked = await alice.call('execute_tool', { server: 'one', tool: 'ask' });
  const { task_id } = asked.body['proxy_task'] as Json;
  const request_id = asked.elicitations[0]?.requestId;
  expect((await bob.call('get_task', { task_id })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  expect((await bob.call('cancel_task', { task_id })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  expect((await bob.call('list_tasks')).elicitations).toEqual([]);
  const answer = { request_id, action: 'accept', content: { name: 'Mallory' } };
  expect((await bob.call('respond_to_elicitation', answer)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  expect((await alice.call('list_tasks')).elicitations).toHaveLength(1);
});

test('X-2: over HTTP a server cannot be added by command unless the operator allows it', async () => {
  const command = { name: 'tool', command: process.execPath, args: ['--version'] };
  const closed = await httpGateway({});
  for (const kind of ['v1', 'modern'] as const) {
    const hub = await hubOverHttp(closed.url, kind);
    const reply = await hub.call('add_server', command);
    expect(reply.code).toBe('TOOL_ERR_NOT_ALLOWED');
    expect(reply.text).toContain('allowCommands');
    expect((await hub.call('list_servers')).body['servers']).toEqual([]);
  }
  const open = await httpGateway({}, { allowCommands: true });
  const hub = await hubOverHttp(open.url);
  // It runs, and is not kept because it is no MCP server.
  expect((await hub.call('add_server', command)).code).toBe('TOOL_ERR_SERVER_UNREACHABLE');
});

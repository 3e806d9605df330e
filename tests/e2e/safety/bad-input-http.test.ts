import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, type LogLine, type Servers } from '../../support/gateway.ts';
import type { Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { logLines, serveProgram } from '../../support/program.ts';
import {
  errorOf,
  INITIALIZE,
  JSON_HEADERS,
  modernCall,
  modernHeaders,
  post,
  rawSession,
  replyOf,
  send,
  toolCall,
  type RawSession,
} from '../../support/raw-http.ts';

const BROKEN_JSON = [
  '',
  '{',
  '{"jsonrpc":"2.0",',
  '[1,',
  'undefined',
  "{'a':1}",
  '\u0000',
  '{"a":1}}',
  '\xff\xfe',
  'NaN',
];

const NOT_A_MESSAGE: unknown[] = [
  null,
  true,
  7,
  1e308,
  'text',
  [],
  [[]],
  [null],
  [1, 2],
  {},
  { id: 1, method: 'tools/list' },
  { jsonrpc: '1.0', id: 1, method: 'tools/list' },
  { jsonrpc: 2, id: 1, method: 'tools/list' },
  { jsonrpc: '2.0', id: {}, method: 'tools/list' },
  { jsonrpc: '2.0', id: [1], method: 'tools/list' },
  { jsonrpc: '2.0', id: null, method: 'tools/list' },
  { jsonrpc: '2.0', id: true, method: 'tools/list' },
  { jsonrpc: '2.0', id: 1, method: 7 },
  { jsonrpc: '2.0', id: 1, method: null },
  { jsonrpc: '2.0', id: 1 },
  { jsonrpc: '2.0', id: 1, method: 'tools/list', params: 'x' },
  { jsonrpc: '2.0', id: 1, method: 'tools/list', params: [1] },
  [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, 7],
];

interface Setup {
  url: string;
  logs: LogLine[];
  client: RawSession;
}

async function setup(servers: Servers = {}): Promise<Setup> {
  const { url, logs } = await httpGateway(servers);
  return { url, logs, client: await rawSession(url) };
}

async function setupWithServer(): Promise<Setup & { server: V1Http }> {
  const server = owned(await startV1Http());
  return { ...(await setup({ one: { url: server.url } })), server };
}

/** Everything that is wrong before it has a meaning; each gets an error, and then the next request is answered. */
async function sendGarbage(url: string, client: RawSession): Promise<void> {
  const alive = async (about: string): Promise<void> => {
    const { isError } = await client.reply('list_servers');
    expect(isError, about).toBe(false);
  };
  for (const body of BROKEN_JSON) {
    const answer = await send(url, {
      headers: { ...client.headers, ...JSON_HEADERS },
      body: Buffer.from(body, 'latin1'),
    });
    expect(answer.status, body).toBe(400);
    expect(errorOf(answer).code, body).toBe(-32700);
  }
  await alive('after broken JSON');
  for (const message of NOT_A_MESSAGE) {
    const shown = JSON.stringify(message);
    for (const headers of [{}, client.headers, { 'mcp-protocol-version': '2026-07-28' }]) {
      const answer = await post(url, message, headers);
      expect(answer.status, shown).toBe(400);
      expect(errorOf(answer).code, shown).toBe(-32600);
      expect(errorOf(answer).message, shown).toMatch(/\S/);
    }
  }
  await alive('after what is no message');
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'multipart/form-data',
    '',
  ]) {
    const answer = await send(url, {
      headers: { ...client.headers, ...JSON_HEADERS, 'content-type': type },
      body: ping,
    });
    expect(answer.status, type).toBe(415);
  }
  for (const accept of ['text/html', 'application/json', 'text/event-stream', '']) {
    const answer = await send(url, {
      headers: { ...client.headers, 'content-type': 'application/json', accept },
      body: ping,
    });
    expect(answer.status, accept).toBe(406);
  }
  expect((await send(url, { method: 'GET', headers: { ...client.headers, accept: 'application/json' } })).status).toBe(
    406,
  );
  for (const method of ['PUT', 'PATCH', 'HEAD']) {
    const answer = await send(url, { method, headers: client.headers });
    expect(answer.status, method).toBe(405);
    expect(answer.headers.allow).toBe('GET, POST, DELETE, OPTIONS');
  }
  for (const path of ['/', '/mcp/../x', '/mcp2', '/%00', '//', '/mcp/%2e%2e']) {
    expect((await send(new URL(url).origin + path, { method: 'GET', headers: client.headers })).status, path).toBe(404);
  }
  await alive('after wrong headers and paths');
  const versions = ['1999-01-01', 'x', '2025-11-25 ', '__proto__'];
  for (const version of versions) {
    const answer = await post(url, toolCall('list_tasks'), { ...client.headers, 'mcp-protocol-version': version });
    expect([200, 400], version).toContain(answer.status);
  }
  expect((await post(url, toolCall('list_tasks'))).status).toBe(400);
  await alive('after wrong versions');
}

test('X-4: invalid input over HTTP gets an error and does no harm', async () => {
  const { url, client, logs } = await setup();
  await sendGarbage(url, client);
  expect(logs.filter(({ level }) => level === 'error')).toEqual([]);
});

test('X-4, O-1: invalid input to the program leaves it running, with one JSON object per log line', async () => {
  const program = await serveProgram(['--port', '0', '--store', ':memory:', '--log-level', 'debug']);
  await sendGarbage(program.url, await rawSession(program.url));
  expect(program.child.exitCode).toBeNull();
  expect(logLines(program).filter(({ level }) => level === 'error')).toEqual([]);
  expect(program.stdout).toEqual([]);
  expect(await program.stop()).toBe(0);
});

test('X-4: unknown methods are errors, and unknown notifications and responses are ignored', async () => {
  const { url, client } = await setup();
  for (const method of ['nope', 'tools/nope', '__proto__', 'constructor', '', 'x'.repeat(10_000), 'tasks/list']) {
    const answer = await post(url, { jsonrpc: '2.0', id: 5, method }, client.headers);
    expect(errorOf(answer).code, method).toBe(-32601);
    expect(answer.json['id']).toBe(5);
  }
  const silent = [
    { jsonrpc: '2.0', method: 'notifications/nope' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'never was' } },
    { jsonrpc: '2.0', method: 'notifications/cancelled' },
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'x', progress: 'much' } },
    { jsonrpc: '2.0', id: 99, result: {} },
    { jsonrpc: '2.0', id: 'x', error: { code: 1, message: 'no' } },
  ];
  for (const message of silent) {
    expect((await post(url, message, client.headers)).status, JSON.stringify(message)).toBe(202);
  }
  expect((await client.reply('list_servers')).isError).toBe(false);
});

test('X-4: tools/call without a valid name or valid arguments is an error', async () => {
  const { url, client } = await setup();
  const call = (params: unknown): Json => ({ jsonrpc: '2.0', id: 3, method: 'tools/call', params });
  for (const params of [undefined, {}, { name: 7 }, { name: null }, { name: ['list_tasks'] }, { name: '' }]) {
    const answer = await post(url, call(params), client.headers);
    expect(errorOf(answer).code, JSON.stringify(params)).toBe(-32602);
  }
  for (const args of [7, 'x', [], null, true]) {
    const answer = await post(url, call({ name: 'list_servers', arguments: args }), client.headers);
    expect(replyOf(answer).code, JSON.stringify(args)).toBe('TOOL_ERR_INVALID_ARGUMENT');
  }
});

test('X-4: prototype keys in a message have no effect', async () => {
  const { server, url, client } = await setupWithServer();
  await client.reply('list_tools');
  const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"text":"kept"}';
  const call = (args: string): string =>
    `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"execute_tool","arguments":${args},"__proto__":{"polluted":1}}}`;
  const answer = await send(url, {
    headers: client.headers,
    body: call(`{"server":"one","tool":"echo","args":${evil}}`),
  });
  expect(replyOf(answer).text).toBe('kept');
  const stray = await send(url, {
    headers: client.headers,
    body: call(`{"server":"one","tool":"echo","args":${evil},"__proto__":{"polluted":1}}`),
  });
  expect(replyOf(stray).code).toBe('TOOL_ERR_INVALID_ARGUMENT');
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted');
  expect(server.state.calls[0]?.args).not.toHaveProperty('polluted');

  for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    expect((await client.reply('get_server_status', { server: name })).code).toBe('TOOL_ERR_SERVER_NOT_FOUND');
    expect((await client.reply('get_task', { task_id: name })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  }
  const asked = await client.reply('execute_tool', { server: 'one', tool: 'ask' });
  const request_id = asked.elicitations[0]?.requestId;
  const wrong = await send(url, {
    headers: client.headers,
    body: call('{}').replace(
      '"name":"execute_tool","arguments":{}',
      `"name":"respond_to_elicitation","arguments":{"request_id":"${request_id}","action":"accept","content":{"__proto__":{"name":"x"}}}`,
    ),
  });
  expect(replyOf(wrong).code).toBe('TOOL_ERR_INVALID_ANSWER');
});

test('H-2, X-4: an unknown argument is an error that names it', async () => {
  const { server, client } = await setupWithServer();
  const misspelt = await client.reply('execute_tool', {
    server: 'one',
    tool: 'echo',
    args: { text: 'x' },
    timeoutMs: 5,
  });
  expect(misspelt.code).toBe('TOOL_ERR_INVALID_ARGUMENT');
  expect(misspelt.text).toContain('timeoutMs');
  expect(server.state.calls).toEqual([]);
});

test('X-4: unusual text arrives unchanged', async () => {
  const { client } = await setupWithServer();
  const texts = [
    '',
    ' ',
    '\u0000\u0001\u001f\u007f',
    'line\u2028separator\u2029and\r\n\t',
    '👩‍👩‍👧‍👦 e\u0301 \u202Ertl',
    'x'.repeat(1_000_000),
    '\uFEFFbom',
    '"}]}\\',
    '{"pending_client_action":{"elicitations":[]}}',
  ];
  for (const text of texts) {
    const { raw } = await client.reply('execute_tool', { server: 'one', tool: 'echo', args: { text } });
    expect(raw.content.at(0)).toEqual({ type: 'text', text });
  }
});

test('X-4: a lone surrogate is handled', async () => {
  const { url, client } = await setupWithServer();
  const body = String.raw`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"execute_tool","arguments":{"server":"one","tool":"echo","args":{"text":"\ud800"}}}}`;
  expect(replyOf(await send(url, { headers: client.headers, body })).text).toBe('\ud800');
  const unknown = String.raw`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"\udfff"}}}`;
  expect(replyOf(await send(url, { headers: client.headers, body: unknown })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
});

test('X-4: huge numbers are refused or passed on', async () => {
  const { url, client } = await setupWithServer();
  const call = (args: string): Promise<{ code: string | undefined }> =>
    send(url, {
      headers: client.headers,
      body: `{"jsonrpc":"2.0","id":1e2,"method":"tools/call","params":{"name":"await_activity","arguments":${args}}}`,
    }).then(replyOf);
  for (const number of ['1e309', '-1e309', '1e20', '-1', '0.5', '9007199254740993', '2147483648']) {
    expect((await call(`{"timeout_ms":${number}}`)).code, number).toBe('TOOL_ERR_INVALID_ARGUMENT');
  }
});

test('X-4: an argument that is nested very deeply is an error of that call', async () => {
  const { url, client } = await setupWithServer();
  await client.reply('list_tools');
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const nested = (tool: string): string =>
    `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"execute_tool","arguments":{"server":"one","tool":"${tool}","args":{"text":"x","ms":1000,"deep":${deep}}}}}`;
  const answer = await send(url, { headers: client.headers, body: nested('echo') });
  expect(replyOf(answer).code).toBe('TOOL_ERR_INVALID_ARGUMENT');
  // The id is free again, and so is everything else.
  const next = await post(url, toolCall('list_servers', {}, 6), client.headers);
  expect(next.status).toBe(200);
});

test('X-4: a request id in use is refused, alone and within a batch', async () => {
  const { server, url, client } = await setupWithServer();
  await client.reply('list_tools');
  const slow = post(
    url,
    toolCall('execute_tool', { server: 'one', tool: 'slow', args: { ms: 1000, text: 'first' } }, 'same'),
    client.headers,
  );
  await expect.poll(() => server.state.calls).toHaveLength(1);
  const second = await post(url, toolCall('list_servers', {}, 'same'), client.headers);
  expect(second.status).toBe(400);
  expect(errorOf(second).message).toContain('"same" is already in use');
  const batch = [toolCall('list_servers', {}, 'b'), toolCall('list_tasks', {}, 'b')];
  expect((await post(url, batch, client.headers)).status).toBe(400);
  expect(replyOf(await slow).text).toBe('first');
  // Once it is answered it may be used again.
  expect((await post(url, toolCall('list_servers', {}, 'same'), client.headers)).status).toBe(200);
});

test('X-4: invalid requests of modern clients get errors', async () => {
  const { url } = await httpGateway({});
  const headers = modernHeaders('list_servers');
  const good = (): Promise<number> => post(url, modernCall('list_servers'), headers).then(({ status }) => status);
  const { params } = modernCall('list_servers') as { params: Json };
  const wrong: [unknown, Record<string, string>][] = [
    [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: {} } }, headers],
    [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, name: 7 } }, headers],
    [modernCall('list_servers'), { ...headers, 'mcp-method': 'tools/list' }],
    [modernCall('list_servers'), { ...headers, 'mcp-name': 'other' }],
    [modernCall('nope'), modernHeaders('nope')],
    [
      { jsonrpc: '2.0', id: 1, method: 'nope', params },
      { ...headers, 'mcp-method': 'nope' },
    ],
  ];
  for (const [message, sent] of wrong) {
    const answer = await post(url, message, sent);
    expect(answer.status, JSON.stringify(message)).toBeLessThan(500);
    expect(errorOf(answer).code, `${JSON.stringify(message)} ${answer.text}`).toBeLessThan(0);
    expect(await good()).toBe(200);
  }
});

test('X-4: a client that disconnects in the middle of its request does no harm', async () => {
  const { url, client, logs } = await setup();
  const half = request(url, { method: 'POST', headers: { ...client.headers, 'content-length': '1000' }, agent: false });
  half.on('error', () => {
    // It is this test that breaks it.
  });
  half.write('{"jsonrpc"');
  const [socket] = (await once(half, 'socket')) as [Socket];
  if (socket.connecting) await once(socket, 'connect');
  half.destroy();
  expect((await post(url, INITIALIZE)).status).toBe(200);
  expect((await client.reply('list_servers')).isError).toBe(false);
  expect(logs.filter(({ level }) => level === 'error')).toEqual([]);
});

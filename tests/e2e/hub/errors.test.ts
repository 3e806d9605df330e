import { expect, test } from 'vitest';
import { ERROR_TABLE } from '../../../src/core/errors.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { errorOf, post, rawSession, toolCall } from '../../support/raw-http.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];

async function twoServers(kind: ClientKind = 'v1'): Promise<{ hub: HubClient; url: string }> {
  const a = owned(await startV1Http());
  const b = owned(await startV2Http());
  const { url } = await httpGateway({ b: { url: b.url }, a: { url: a.url } });
  return { hub: await hubOverHttp(url, kind), url };
}

function messageOf(reply: Reply): string {
  const { message } = reply.body['error'] as { message: string };
  return message;
}

function detailsOf(reply: Reply): Json {
  const { details } = reply.body['error'] as { details: Json };
  return details;
}

const WITH_UNKNOWN_SERVER: [tool: string, args: Json][] = [
  ['execute_tool', { server: 'x', tool: 'echo' }],
  ['list_tools', { server: 'x' }],
  ['list_resources', { server: 'x' }],
  ['list_resource_templates', { server: 'x' }],
  ['list_prompts', { server: 'x' }],
  ['read_resource', { server: 'x', uri: 'test://text' }],
  ['subscribe_resource', { server: 'x', uri: 'test://text' }],
  ['unsubscribe_resource', { server: 'x', uri: 'test://text' }],
  ['get_prompt', { server: 'x', name: 'plain' }],
  ['get_server_status', { server: 'x' }],
  ['remove_server', { name: 'x' }],
  ['get_logs', { server: 'x' }],
  ['execute_tool', { server: '__proto__', tool: 'echo' }],
  ['execute_tool', { server: 'constructor', tool: 'echo' }],
];

test.each(KINDS)('H-12: an unknown server is an error that names the known ones (%s)', async (kind) => {
  const { hub } = await twoServers(kind);
  for (const [tool, args] of WITH_UNKNOWN_SERVER) {
    const reply = await hub.call(tool, args);
    expect(reply.isError, tool).toBe(true);
    expect(reply.code, tool).toBe('TOOL_ERR_SERVER_NOT_FOUND');
    const name = String(args['server'] ?? args['name']);
    expect(messageOf(reply), tool).toBe(`no server '${name}'; known: a, b`);
  }
});

test.each(['a', 'b'])('H-12: an unknown tool of server %s is an error that names the known ones', async (server) => {
  const { hub } = await twoServers();
  const reply = await hub.call('execute_tool', { server, tool: 'ehco' });
  expect(reply.code).toBe('TOOL_ERR_NOT_FOUND');
  expect(messageOf(reply)).toContain(`server '${server}' has no tool 'ehco'; did you mean 'echo'? known: `);
  expect(messageOf(reply)).toContain('echo');
});

test('H-12: errors for unknown tasks and requests name the tool that lists them', async () => {
  const { hub } = await twoServers();
  for (const tool of ['get_task', 'get_task_result', 'cancel_task']) {
    const reply = await hub.call(tool, { task_id: 'nope' });
    expect(reply.code).toBe('TOOL_ERR_TASK_NOT_FOUND');
    expect(messageOf(reply)).toContain('list_tasks');
  }
  const elicitation = await hub.call('respond_to_elicitation', { request_id: 'nope', action: 'cancel' });
  expect(elicitation.code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  expect(messageOf(elicitation)).toContain('get_elicitations');
  const sampling = await hub.call('respond_to_sampling', { request_id: 'nope', content: 'x' });
  expect(sampling.code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  expect(messageOf(sampling)).toContain('get_sampling_requests');
});

const WRONG: [tool: string, args: Json, about: string][] = [
  ['execute_tool', { tool: 'echo' }, 'server'],
  ['execute_tool', { server: 'a', tool: 7 }, 'tool'],
  ['execute_tool', { server: 'a', tool: 'echo', args: 'x' }, 'args'],
  ['execute_tool', { server: 'a', tool: 'echo', timeout_ms: '5' }, 'timeout_ms'],
  ['execute_tool', { server: 'a', tool: 'echo', timeout_ms: -1 }, 'timeout_ms'],
  ['execute_tool', { server: 'a', tool: 'echo', timeout_ms: 1.5 }, 'timeout_ms'],
  ['get_task', {}, 'task_id'],
  ['list_tasks', { status: 'sleeping' }, 'status'],
  ['await_activity', { timeout_ms: null }, 'timeout_ms'],
  ['respond_to_elicitation', { request_id: 'x', action: 'maybe' }, 'action'],
  ['respond_to_sampling', { request_id: 'x', content: { type: 'smell' } }, 'content'],
  ['get_logs', { level: 'loud' }, 'level'],
  ['get_logs', { limit: 0 }, 'limit'],
  ['add_server', { name: 'has/slash', url: 'http://127.0.0.1:1/' }, 'name'],
  ['add_server', { name: '__proto__', url: 'http://127.0.0.1:1/' }, 'name'],
  ['add_server', { name: 'c', url: 'ftp://127.0.0.1/' }, 'url'],
  ['add_server', { name: 'c' }, 'url or command'],
  ['add_server', { name: 'c', url: 'http://127.0.0.1:1/', command: 'true' }, 'url or command'],
  ['list_tools', { pattern: 'x'.repeat(257) }, 'pattern'],
];

test.each(KINDS)('H-12, X-4: wrong arguments are errors that name the argument (%s)', async (kind) => {
  const { hub } = await twoServers(kind);
  for (const [tool, args, about] of WRONG) {
    const reply = await hub.call(tool, args);
    expect(reply.code, `${tool} ${JSON.stringify(args)}`).toBe('TOOL_ERR_INVALID_ARGUMENT');
    expect(messageOf(reply)).toContain(about);
  }
});

test('H-12: an error of a server keeps its code and data', async () => {
  const { hub } = await twoServers();
  const call = await hub.call('execute_tool', { server: 'a', tool: 'rpc_error' });
  expect(call.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  expect(messageOf(call)).toContain('quota used up');
  expect(detailsOf(call)).toMatchObject({
    server: 'a',
    tool: 'rpc_error',
    error: { code: -32011, message: expect.stringContaining('quota used up'), data: { retryAfter: 7 } },
  });

  const resource = await hub.call('read_resource', { server: 'a', uri: 'test://none' });
  expect(resource.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  expect(detailsOf(resource)).toMatchObject({ server: 'a', error: { data: { uri: 'test://none' } } });

  const prompt = await hub.call('get_prompt', { server: 'a', name: 'none' });
  expect(prompt.code).toBe('TOOL_ERR_EXECUTION_FAILED');
  expect(detailsOf(prompt)).toMatchObject({ server: 'a', error: { code: -32602 } });
});

test('H-12, X-4: subscribing at a server without subscriptions is an error, and later calls work', async () => {
  const { hub } = await twoServers();
  for (let again = 0; again < 5; again += 1) {
    const reply = await hub.call('subscribe_resource', { server: 'b', uri: 'test://text' });
    expect(reply.code, reply.text).toBe('TOOL_ERR_EXECUTION_FAILED');
    expect(messageOf(reply)).toContain('does not report changes');
  }
  const { text } = await hub.call('execute_tool', { server: 'b', tool: 'echo', args: { text: 'still here' } });
  expect(text).toBe('still here');
});

test('H-12: a server that is lost during a call has another error code than a server error', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ a: { url: server.url } });
  const hub = await hubOverHttp(url);
  await hub.call('list_tools');
  const call = hub.call('execute_tool', { server: 'a', tool: 'slow', args: { ms: 60_000 } });
  await expect.poll(() => server.state.calls).toHaveLength(1);
  await server.close();
  const reply = await call;
  expect(reply.code).toBe('TOOL_ERR_SERVER_DISCONNECTED');
  expect(messageOf(reply)).toContain("server 'a'");
});

test('H-12: an unreachable server is an error of every tool that needs it', async () => {
  const { url } = await httpGateway({ away: { url: 'http://127.0.0.1:1/' } });
  const hub = await hubOverHttp(url);
  const calls: [string, Json][] = [
    ['execute_tool', { server: 'away', tool: 'echo' }],
    ['list_tools', { server: 'away' }],
    ['list_resources', { server: 'away' }],
    ['read_resource', { server: 'away', uri: 'test://text' }],
    ['get_prompt', { server: 'away', name: 'plain' }],
    ['subscribe_resource', { server: 'away', uri: 'test://text' }],
    ['unsubscribe_resource', { server: 'away', uri: 'test://text' }],
  ];
  for (const [tool, args] of calls) {
    const reply = await hub.call(tool, args);
    expect(reply.code, tool).toBe('TOOL_ERR_SERVER_DISCONNECTED');
    expect(messageOf(reply), tool).toContain("'away'");
  }
  const added = await hub.call('add_server', { name: 'other', url: 'http://127.0.0.1:1/' });
  expect(added.code).toBe('TOOL_ERR_SERVER_UNREACHABLE');
  expect((await hub.call('list_servers')).body['servers']).toHaveLength(1);
});

test('H-12: a task that exceeds its TTL is a timeout error', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ a: { url: server.url } }, { calls: { timeoutMs: 200 } });
  const hub = await hubOverHttp(url);
  const asked = await hub.call('execute_tool', { server: 'a', tool: 'slow', args: { ms: 60_000 }, task_ttl_ms: 1 });
  const { task_id } = asked.body['proxy_task'] as Json;
  const reply = await hub.call('get_task_result', { task_id });
  expect(reply.code).toBe('TOOL_ERR_TIMEOUT');
});

test.each(KINDS)('H-12: an unknown tool or method of the hub is a JSON-RPC error (%s)', async (kind) => {
  const { hub } = await twoServers(kind);
  await expect(hub.call('execute_tol')).rejects.toMatchObject({
    code: -32602,
    message: expect.stringMatching(/no tool 'execute_tol'; did you mean 'execute_tool'\? known: .*execute_tool/),
  });
  await expect(hub.call('__proto__')).rejects.toMatchObject({ code: -32602 });
  // Without sessions the status says it too, which the SDK's client takes for the whole answer.
  const unknown = kind === 'modern' ? { data: { status: 404 } } : { code: -32601 };
  await expect(hub.request('prompts/list')).rejects.toMatchObject(unknown);
});

test('H-12: an unknown session gets HTTP 404 with its error code', async () => {
  const { url } = await twoServers();
  const { headers } = await rawSession(url);
  const answer = await post(url, toolCall('list_tasks'), {
    ...headers,
    'mcp-session-id': '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  });
  expect(answer.status).toBe(404);
  expect(errorOf(answer)).toMatchObject({
    code: ERROR_TABLE.TOOL_ERR_SESSION_NOT_FOUND.rpc,
    message: expect.stringContaining('initialize'),
    data: { code: 'TOOL_ERR_SESSION_NOT_FOUND' },
  });
});

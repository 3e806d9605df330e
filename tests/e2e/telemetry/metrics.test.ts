import { describe, expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind } from '../../support/hub.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { parseOpenMetrics, valueOf, type Family } from '../../support/openmetrics.ts';
import { owned } from '../../support/owned.ts';
import { send } from '../../support/raw-http.ts';
import { whoIs } from '../direct/matrix/answers.ts';
import type { Open } from '../direct/matrix/client.ts';
import { v1Asked } from '../direct/matrix/clients/v1.ts';
import { v2Rounds } from '../direct/matrix/clients/v2.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];
const STARTS = { legacy: startV1Http, modern: startV2Http };
const matrix = KINDS.flatMap((client) => (['legacy', 'modern'] as const).map((server) => [client, server] as const));

async function scrape(url: string): Promise<Map<string, Family>> {
  const { status, headers, text } = await send(url.replace(/\/mcp$/, '/metrics'), { method: 'GET', headers: {} });
  expect(status, text).toBe(200);
  expect(headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  return parseOpenMetrics(text);
}

test.each(matrix)('V-1: each event is counted once: %s client, %s server', async (kind, era) => {
  const server = owned(await STARTS[era]());
  const store = `${await temporaryFolder()}/store.db`;
  const { url } = await httpGateway({ one: { url: server.url } }, { store });
  await scrape(url);
  const hub = await hubOverHttp(url, kind);
  const direct = await hubOverHttp(`${url}/one`, kind);
  const all = await hubOverHttp(`${url}/all`, kind);
  const call = { server: 'one', tool: 'echo', args: { text: 'a secret argument' } };
  expect((await hub.call('execute_tool', call)).text).toBe('a secret argument');
  expect((await direct.call('echo', { text: 'directly' })).text).toBe('directly');
  expect((await all.call('one__echo', { text: 'all' })).text).toBe('all');
  expect((await hub.call('execute_tool', { server: 'one', tool: 'fail' })).isError).toBe(true);
  expect((await hub.call('execute_tool', { server: 'one', tool: 'rpc_error' })).isError).toBe(true);
  const slow = await hub.call('execute_tool', {
    server: 'one',
    tool: 'slow',
    args: { ms: 300, text: 'late' },
    timeout_ms: 1,
  });
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who?' } });
  const during = await scrape(url);
  expect(valueOf(during, 'meanwhile_questions_open', { kind: 'elicitation', server: 'one' })).toBe(1);
  expect(valueOf(during, 'meanwhile_tasks', { status: 'input_required' })).toBe(1);
  expect(valueOf(during, 'meanwhile_calls_open', { server: 'one' })).toBeGreaterThan(0);

  const answer = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  await hub.call('respond_to_elicitation', answer);
  await hub.call('get_task_result', { task_id: taskIdOf(asked) });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(slow) })).text).toBe('late');

  const after = await scrape(url);
  const value = (sample: string, labels?: Record<string, string>): number => valueOf(after, sample, labels);
  expect(value('meanwhile_calls_total', { server: 'one', outcome: 'result' })).toBe(5);
  expect(value('meanwhile_calls_total', { server: 'one', outcome: 'tool_error' })).toBe(1);
  expect(value('meanwhile_calls_total', { server: 'one', outcome: 'error' })).toBe(1);
  const calls = { mcp_method_name: 'tools/call' };
  expect(value('mcp_client_operation_duration_seconds_count', { ...calls, server: 'one' })).toBe(7);
  expect(value('mcp_client_operation_duration_seconds_sum', { ...calls, error_type: '' })).toBeGreaterThan(0.3);
  expect(value('mcp_server_operation_duration_seconds_count', { ...calls, view: 'hub' })).toBe(8);
  expect(value('mcp_server_operation_duration_seconds_count', { ...calls, view: 'direct' })).toBe(1);
  expect(value('mcp_server_operation_duration_seconds_count', { ...calls, view: 'group' })).toBe(1);
  expect(value('mcp_server_operation_duration_seconds_count', { ...calls, error_type: 'tool_error' })).toBe(2);
  expect(value('meanwhile_calls_promoted_total', { server: 'one', reason: 'timeout' })).toBe(1);
  expect(value('meanwhile_calls_promoted_total', { server: 'one', reason: 'question' })).toBe(1);
  expect(value('meanwhile_task_duration_seconds_count', { status: 'completed' })).toBe(2);
  expect(value('meanwhile_tasks', { status: 'completed' })).toBe(2);
  expect(value('meanwhile_tasks', { status: 'working' })).toBe(0);
  const accepted = { kind: 'elicitation', outcome: 'accepted', via: 'tools' };
  expect(value('meanwhile_question_wait_seconds_count', accepted)).toBe(1);
  expect(value('meanwhile_questions_open')).toBe(0);
  expect(value('meanwhile_calls_open')).toBe(0);
  expect(value('meanwhile_sessions', { view: 'hub' })).toBe(1);
  expect(value('meanwhile_sessions', { view: 'direct' })).toBe(1);
  expect(value('meanwhile_sessions', { view: 'group' })).toBe(1);
  expect(value('meanwhile_server_up', { server: 'one' })).toBe(1);
  expect(value('meanwhile_server_connections', { server: 'one', state: 'connected' })).toBe(3);
  expect(value('meanwhile_store_commit_seconds_count', { outcome: 'stored' })).toBeGreaterThan(2);
  expect(value('meanwhile_store_up')).toBe(1);
  expect(after.has('meanwhile_forwarded_requests')).toBe(true);
});

test.each<[string, Open]>([
  ['request', v1Asked],
  ['round', v2Rounds],
])('V-1: the time to answer is measured for each way: %s', async (via, open) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  await scrape(url);
  const client = await open({ url: `${url}/one` });
  const { content } = await client.call('ask', { message: whoIs('Ada') });
  expect(content).toEqual([{ type: 'text', text: 'Hello Ada' }]);
  await client.close();
  const labels = { kind: 'elicitation', outcome: 'accepted', via };
  expect(valueOf(await scrape(url), 'meanwhile_question_wait_seconds_count', labels)).toBe(1);
});

test('V-1: expired, refused and withdrawn questions are counted', async () => {
  const clock = new JumpingClock();
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { questions: { timeoutMs: 60_000 } }, clock);
  await scrape(url);
  const hub = await hubOverHttp(url);
  const expired = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who?' } });
  clock.jump(61_000);
  await hub.call('get_task_result', { task_id: taskIdOf(expired) });
  const sampled = await hub.call('execute_tool', { server: 'one', tool: 'sample', args: { prompt: 'x' } });
  await hub.call('respond_to_sampling', { request_id: sampled.samplings[0]?.requestId, action: 'decline' });
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who?' } });
  await hub.call('cancel_task', { task_id: taskIdOf(asked) });
  const families = await scrape(url);
  const waited = (labels: Record<string, string>): number =>
    valueOf(families, 'meanwhile_question_wait_seconds_count', labels);
  const expiredOnes = { kind: 'elicitation', outcome: 'expired', via: 'nobody' };
  expect(waited(expiredOnes)).toBe(1);
  expect(valueOf(families, 'meanwhile_question_wait_seconds_sum', expiredOnes)).toBeGreaterThan(60);
  expect(waited({ kind: 'sampling', outcome: 'refused', via: 'tools' })).toBe(1);
  expect(waited({ kind: 'elicitation', outcome: 'rejected', via: 'nobody' })).toBe(1);
});

test('V-1: labels contain no ids, arguments or names chosen by clients', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  await scrape(url);
  const hub = await hubOverHttp(url);
  await hub.call('add_server', { name: 'private-name', url: server.url });
  await hub.call('execute_tool', { server: 'private-name', tool: 'echo', args: { text: 'argument-text' } });
  const slow = await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 });
  await expect(hub.request('made-up/method')).rejects.toThrow();
  const direct = await hubOverHttp(`${url}/one`);
  await expect(direct.call('no-such-tool')).rejects.toThrow();
  const families = await scrape(url);
  expect(valueOf(families, 'meanwhile_calls_total', { server: '(added)', outcome: 'result' })).toBe(1);
  const other = { mcp_method_name: '_OTHER', error_type: '-32601' };
  expect(valueOf(families, 'mcp_server_operation_duration_seconds_count', other)).toBe(1);
  const labels = JSON.stringify([...families.values()].flatMap(({ samples }) => samples.map((each) => each.labels)));
  const private_ = ['private-name', 'argument-text', 'made-up', 'no-such-tool', 'echo', taskIdOf(slow)];
  for (const text of [...private_, ...gateway.sessions.map(({ id }) => id)]) expect(labels).not.toContain(text);
});

test('V-1: meanwhile_server_up is 0 for an unreachable server and absent for an unused one', async () => {
  const { url } = await httpGateway({
    gone: { url: 'http://127.0.0.1:9/mcp' },
    unused: { command: 'none' },
  });
  await scrape(url);
  const hub = await hubOverHttp(url);
  await hub.call('execute_tool', { server: 'gone', tool: 'echo' });
  const families = await scrape(url);
  expect(families.get('meanwhile_server_up')?.samples).toEqual([
    { name: 'meanwhile_server_up', labels: { server: 'gone' }, value: 0 },
  ]);
  expect(valueOf(families, 'meanwhile_calls_total', { server: 'gone', outcome: 'unreachable' })).toBe(1);
});

test('V-1: counting starts with the first request for metrics', async () => {
  const server = owned(await startV1Http());
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const call = (): Promise<unknown> => hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
  await call();
  expect(gateway.observed.observer).toBeUndefined();
  expect(valueOf(await scrape(url), 'meanwhile_calls_total')).toBe(0);
  await call();
  expect(valueOf(await scrape(url), 'meanwhile_calls_total')).toBe(1);
});

describe('V-1: access to metrics', () => {
  const TOKEN = 'a-token-that-nobody-guesses';
  const read = async (url: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(url.replace(/\/mcp$/, '/metrics'), { method, headers });

  test('V-1: requires a token if tokens are configured', async () => {
    const { url } = await httpGateway({}, { auth: { tokens: { alice: TOKEN } } });
    const refused = await read(url);
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toBe('Bearer');
    expect(refused.text).not.toContain('meanwhile_');
    expect((await read(url, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await read(url, { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });

  test('V-1: is refused for a foreign Host or Origin header', async () => {
    const { url } = await httpGateway({});
    expect((await read(url, { host: 'evil.example' })).status).toBe(403);
    expect((await read(url, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await read(url)).status).toBe(200);
  });

  test('V-1: is limited to GET and HEAD', async () => {
    const { url } = await httpGateway({});
    const refused = await read(url, {}, 'POST');
    expect(refused.status).toBe(405);
    expect(refused.headers.allow).toBe('GET, HEAD');
    const head = await read(url, {}, 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
  });
});

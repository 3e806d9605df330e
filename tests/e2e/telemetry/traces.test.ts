import { expect, test, vi } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { startCollector, type CollectedSpan, type Collector } from '../../support/collector.ts';
import { configFile, httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { serveProgram, startProgram } from '../../support/program.ts';
import { INITIALIZE } from '../../support/raw-http.ts';
import { whoIs } from '../direct/matrix/answers.ts';
import type { Open } from '../direct/matrix/client.ts';
import { extTasks } from '../direct/matrix/clients/ext-tasks.ts';
import { v1Tasks } from '../direct/matrix/clients/v1.ts';
import { exactServer, overHttp } from '../exact/setup.ts';
import { oddModernServer, oddServer, textResult, type Handler } from '../robust/odd-server.ts';
import { tracedGateway } from './traced-gateway.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const CONTEXT = {
  traceparent: `00-${TRACE}-${PARENT}-01`,
  tracestate: 'vendor=opaque',
  baggage: 'user=ada,n=9007199254740993',
};

const CLIENTS: ClientKind[] = ['v1', 'modern'];
const ERAS = ['legacy', 'modern'] as const;
const VIEWS = ['hub', 'direct', 'all'] as const;
const matrix = CLIENTS.flatMap((client) => ERAS.flatMap((era) => VIEWS.map((view) => [client, era, view] as const)));

/** A server that notes the metadata of each call. */
async function notingServer(era: (typeof ERAS)[number]): Promise<{ url: string; metas: Json[] }> {
  const metas: Json[] = [];
  const call: Handler = ({ params, reply }) => {
    metas.push(params['_meta'] as Json);
    reply({ ...textResult('done'), ...(era === 'modern' && { resultType: 'complete' }) });
  };
  const { url } = await (era === 'modern' ? oddModernServer : oddServer)({ 'tools/call': call });
  return { url, metas };
}

const PLACES = { hub: '', direct: '/one', all: '/all' };
const CALLS: Record<(typeof VIEWS)[number], { name: string; arguments: Json }> = {
  hub: { name: 'execute_tool', arguments: { server: 'one', tool: 'work', args: {} } },
  direct: { name: 'work', arguments: {} },
  all: { name: 'one__work', arguments: {} },
};

/** The span of that kind whose name begins so, once it is there. */
async function spanOf(collector: Collector, kind: CollectedSpan['kind'], name: string): Promise<CollectedSpan> {
  return vi.waitFor(() => {
    expect(collector.mistakes).toEqual([]);
    const found = collector.spans.find((span) => span.kind === kind && span.name.startsWith(name));
    expect(found, collector.spans.map((span) => `${span.kind} ${span.name}`).join(', ')).toBeDefined();
    return found as CollectedSpan;
  });
}

test.each(matrix)(
  'V-2: one trace covers client, gateway and server: %s client, %s server, %s',
  async (kind, era, view) => {
    const server = await notingServer(era);
    const { url, collector } = await tracedGateway({ one: { url: server.url } });
    const client = await hubOverHttp(`${url}${PLACES[view]}`, kind);
    await client.request('tools/call', { ...CALLS[view], _meta: CONTEXT });
    const north = await spanOf(collector, 'server', 'tools/call');
    const south = await spanOf(collector, 'client', 'tools/call');
    expect(north).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, name: `tools/call ${CALLS[view].name}` });
    expect(north.attributes).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': CALLS[view].name,
      'gen_ai.operation.name': 'execute_tool',
      'mcp.protocol.version': kind === 'modern' ? '2026-07-28' : '2025-11-25',
      'jsonrpc.request.id': expect.any(String),
      'meanwhile.view': { hub: 'hub', direct: 'direct', all: 'group' }[view],
    });
    expect(north.attributes).not.toHaveProperty('mcp.session.id');
    expect(south).toMatchObject({ traceId: TRACE, parentSpanId: north.spanId, name: 'tools/call work', failed: false });
    expect(south.attributes).toMatchObject({
      'meanwhile.server': 'one',
      'network.transport': 'tcp',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(server.url).port),
    });
    expect(north.start).toBeLessThanOrEqual(south.start);
    expect(south.end).toBeLessThanOrEqual(north.end);
    expect(server.metas).toEqual([
      expect.objectContaining({ ...CONTEXT, traceparent: `00-${TRACE}-${south.spanId}-01` }),
    ]);
  },
);

test.each(ERAS)('V-2: large integers stay exact through %s parties while a trace is recorded', async (era) => {
  const big = '9007199254740993';
  const { url, collector } = await tracedGateway({ exact: await exactServer('http', era) });
  const direct = await overHttp(`${url}/exact`, era);
  const text = await direct('echo', `{"n":${big}}`, `"test/n":${big},"traceparent":"${CONTEXT.traceparent}"`);
  expect(text).toContain(`arguments {\\"n\\":${big}}, test/n ${big}`);
  expect(text).toContain(`"structuredContent":{"n":${big},"list":[-${big},1]}`);
  const hub = await overHttp(url, era);
  const args = `{"server":"exact","tool":"echo","args":{"n":${big}}}`;
  expect(await hub('execute_tool', args, `"traceparent":"${CONTEXT.traceparent}"`)).toContain(`{\\"n\\":${big}}`);
  expect((await spanOf(collector, 'client', 'tools/call')).traceId).toBe(TRACE);
});

test('V-2: prompts, resources and the hub tools for them are traced', async () => {
  const server = owned(await startV1Http());
  const { url, collector } = await tracedGateway({ one: { url: server.url } });
  const direct = await hubOverHttp(`${url}/one`);
  await direct.request('prompts/get', { name: 'plain', _meta: CONTEXT });
  await direct.request('resources/read', { uri: 'test://text', _meta: CONTEXT });
  const prompt = await spanOf(collector, 'server', 'prompts/get plain');
  expect(prompt.attributes).toMatchObject({ 'gen_ai.prompt.name': 'plain' });
  expect(await spanOf(collector, 'client', 'prompts/get plain')).toMatchObject({ parentSpanId: prompt.spanId });
  const read = await spanOf(collector, 'server', 'resources/read');
  expect(read).toMatchObject({ name: 'resources/read', attributes: { 'mcp.resource.uri': 'test://text' } });
  collector.spans.length = 0;
  const hub = await hubOverHttp(url);
  const args = { server: 'one', uri: 'test://text' };
  await hub.request('tools/call', { name: 'read_resource', arguments: args, _meta: CONTEXT });
  const tool = await spanOf(collector, 'server', 'tools/call read_resource');
  expect(await spanOf(collector, 'client', 'resources/read')).toMatchObject({ parentSpanId: tool.spanId });
});

test('V-2: errors of tools and servers mark the span as failed, and client errors do not', async () => {
  const server = owned(await startV1Http());
  const { url, collector } = await tracedGateway({ one: { url: server.url } });
  const direct = await hubOverHttp(`${url}/one`);
  await direct.call('fail');
  await expect(direct.call('rpc_error')).rejects.toThrow();
  await expect(direct.request('tasks/get', { taskId: 'none' })).rejects.toThrow();
  expect(await spanOf(collector, 'server', 'tools/call fail')).toMatchObject({
    failed: true,
    attributes: { 'error.type': 'tool_error' },
  });
  const south = await spanOf(collector, 'client', 'tools/call rpc_error');
  expect(south).toMatchObject({ failed: true, attributes: { 'error.type': expect.stringMatching(/^-32\d+$/) } });
  const mistake = await spanOf(collector, 'server', 'tasks/get');
  expect(mistake).toMatchObject({ failed: false, attributes: { 'rpc.response.status_code': '-32602' } });
  expect(mistake.attributes).not.toHaveProperty('error.type');
});

test.each([
  ['v1', startV1Http],
  ['modern', startV2Http],
] as const)('V-2: a task is one span, and polls and answers are linked to it: %s', async (kind, start) => {
  const server = owned(await start());
  const { url, collector } = await tracedGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, kind);
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', args: { message: 'Who?' } });
  const began = await spanOf(collector, 'server', 'tools/call execute_tool');
  const [question] = asked.elicitations;
  await hub.call('get_task', { task_id: taskIdOf(asked) });
  const answer = { request_id: question?.requestId, action: 'accept', content: { name: 'Ada' } };
  await hub.call('respond_to_elicitation', answer);
  await hub.call('get_task_result', { task_id: taskIdOf(asked) });
  const work = await spanOf(collector, 'client', 'tools/call ask');
  expect(work).toMatchObject({ traceId: began.traceId, parentSpanId: began.spanId });
  const waiting = await spanOf(collector, 'server', 'elicitation/create');
  expect(waiting).toMatchObject({ traceId: work.traceId, parentSpanId: work.spanId });
  expect(waiting.attributes).toMatchObject({
    'meanwhile.question.outcome': 'accepted',
    'meanwhile.question.via': 'tools',
    'meanwhile.server': 'one',
  });
  for (const name of ['get_task', 'respond_to_elicitation', 'get_task_result']) {
    const linked = await spanOf(collector, 'server', `tools/call ${name}`);
    expect(linked.links, name).toEqual([{ traceId: began.traceId, spanId: began.spanId }]);
    expect(linked.traceId).not.toBe(began.traceId);
  }
});

test.each<[string, Open]>([
  ['2025-11-25', v1Tasks],
  ['2026-07-28', extTasks],
])('V-2: a protocol task is one span, and its requests are linked to it, %s', async (_version, open) => {
  const server = owned(await startV1Http());
  const { url, collector } = await tracedGateway(
    { one: { url: server.url } },
    { settings: { direct: { taskAfterMs: 20 } } },
  );
  const client = await open({ url: `${url}/one` });
  await client.call('ask', { message: whoIs('Ada'), ms: 100 });
  await client.close();
  const began = await spanOf(collector, 'server', 'tools/call ask');
  const work = await spanOf(collector, 'client', 'tools/call ask');
  expect(work).toMatchObject({ traceId: began.traceId, parentSpanId: began.spanId });
  expect(await spanOf(collector, 'server', 'elicitation/create')).toMatchObject({ parentSpanId: work.spanId });
  const polls = collector.spans.filter((span) => span.kind === 'server' && span.name.startsWith('tasks/'));
  expect(polls.length).toBeGreaterThan(0);
  for (const { links } of polls) expect(links).toEqual([{ traceId: began.traceId, spanId: began.spanId }]);
});

test('V-2: a task that continues after a restart is linked to the request that started it', async () => {
  const server = owned(await startTasksV1Http());
  const settings = { store: `${await temporaryFolder()}/store.db` };
  const before = await tracedGateway({ far: { url: server.url } }, { settings });
  const hub = await hubOverHttp(before.url);
  const args = { server: 'far', tool: 'hold', args: { text: 'the truth' }, timeout_ms: 300 };
  taskIdOf(await hub.call('execute_tool', args));
  const began = await spanOf(before.collector, 'server', 'tools/call execute_tool');
  const [session] = before.gateway.sessions;
  await vi.waitFor(() => expect(session?.tasks.atWork()[0]?.checkpoint).toBeDefined());
  await before.close();
  const after = await tracedGateway({ far: { url: server.url } }, { settings });
  server.state.release();
  const resumed = await spanOf(after.collector, 'client', 'tools/call hold');
  expect(resumed.parentSpanId).toBeUndefined();
  expect(resumed.links).toEqual([{ traceId: began.traceId, spanId: began.spanId }]);
});

test('V-2: a request without trace context starts a trace, and the gateway’s own requests start none', async () => {
  const server = await notingServer('legacy');
  const { url, collector } = await tracedGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await hub.call('list_tools', { server: 'one' });
  await hub.request('tools/call', CALLS.hub);
  const north = await spanOf(collector, 'server', 'tools/call execute_tool');
  const south = await spanOf(collector, 'client', 'tools/call work');
  expect(north.parentSpanId).toBeUndefined();
  expect(server.metas[0]).toMatchObject({ traceparent: `00-${north.traceId}-${south.spanId}-01` });
  expect(collector.spans.filter((span) => span.kind === 'client')).toHaveLength(1);
});

test('V-2: an invalid trace context is ignored', async () => {
  const server = await notingServer('legacy');
  const { url, collector } = await tracedGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  for (const traceparent of ['', 'x'.repeat(60), `00-${'0'.repeat(32)}-${PARENT}-01`, 5]) {
    await hub.request('tools/call', { ...CALLS.hub, _meta: { traceparent } });
  }
  await vi.waitFor(() => expect(collector.spans.filter((span) => span.kind === 'server')).toHaveLength(4));
  expect(collector.mistakes).toEqual([]);
  for (const span of collector.spans) if (span.kind === 'server') expect(span.parentSpanId).toBeUndefined();
});

test('V-2: a trace that is not sampled is not exported, and the server gets the unsampled flag', async () => {
  const server = await notingServer('legacy');
  const gateway = await tracedGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(gateway.url);
  await hub.request('tools/call', { ...CALLS.hub, _meta: { traceparent: `00-${TRACE}-${PARENT}-00` } });
  expect(server.metas[0]).toMatchObject({ traceparent: expect.stringMatching(`^00-${TRACE}-(?!${PARENT}).{16}-00$`) });
  await gateway.close();
  expect(gateway.collector.spans.filter((span) => span.traceId === TRACE)).toEqual([]);
});

test('V-2: without a collector no spans are recorded, and the context still reaches the server', async () => {
  const server = await notingServer('legacy');
  const { url, gateway } = await httpGateway({ one: { url: server.url } });
  for (const view of VIEWS) {
    const client = await hubOverHttp(`${url}${PLACES[view]}`);
    await client.request('tools/call', { ...CALLS[view], _meta: CONTEXT });
  }
  expect(gateway.observed.observer).toBeUndefined();
  expect(server.metas).toEqual(VIEWS.map(() => expect.objectContaining(CONTEXT)));
});

test('V-2: traces can be disabled, and invalid variables only cause a warning', async () => {
  const off = await tracedGateway({}, { otel: { OTEL_SDK_DISABLED: 'true' } });
  expect(off.gateway.observed.observer).toBeUndefined();
  const odd = await tracedGateway({}, { otel: { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' } });
  expect(odd.logs.filter(({ event }) => event === 'config_warning')).toHaveLength(1);
  expect(odd.gateway.observed.observer).toBeUndefined();
});

test('V-2: an unreachable collector affects no call, and is logged once', async () => {
  const server = owned(await startV1Http());
  const gone = await startCollector();
  await gone.close();
  const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: gone.url, OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_BSP_MAX_QUEUE_SIZE: '10' };
  const gateway = await tracedGateway({ one: { url: server.url } }, { otel });
  const hub = await hubOverHttp(gateway.url);
  for (let index = 0; index < 30; index += 1) {
    const reply = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: `${index}` } });
    expect(reply.text).toBe(`${index}`);
  }
  await gateway.close();
  const told = gateway.logs.map(({ event }) => event).filter((event) => event.startsWith('span'));
  expect(told.toSorted()).toEqual(['span_queue_full', 'spans_dropped', 'spans_not_exported']);
});

test('V-2: the program reads the OTEL variables, and exports remaining spans when it exits', async () => {
  const server = owned(await startV1Http());
  const collector = await startCollector();
  const config = await configFile({ one: { url: server.url } });
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/in`, OTEL_SERVICE_NAME: 'my-gateway' };
  const program = await serveProgram(['--config', config], { env });
  const hub = await hubOverHttp(program.url);
  await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
  await hub.close();
  expect(collector.spans).toEqual([]);
  expect(await program.stop()).toBe(0);
  expect(collector.requests.map(({ path }) => path)).toEqual(['/in']);
  expect(await spanOf(collector, 'client', 'tools/call echo')).toMatchObject({
    resource: { 'service.name': 'my-gateway' },
  });
});

test('V-2: the program exports traces over stdio, too', async () => {
  const server = await notingServer('legacy');
  const collector = await startCollector();
  const config = await configFile({ one: { url: server.url } });
  const program = await startProgram(['stdio', '--config', config], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  const tell = (message: Json): boolean =>
    program.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  tell(INITIALIZE);
  tell({ method: 'notifications/initialized' });
  tell({ id: 2, method: 'tools/call', params: { ...CALLS.hub, _meta: CONTEXT } });
  await vi.waitFor(() => expect(program.stdout.join('\n')).toContain('"id":2'), { timeout: 10_000 });
  program.child.stdin.end();
  expect(await program.exited).toBe(0);
  const north = await spanOf(collector, 'server', 'tools/call execute_tool');
  const south = await spanOf(collector, 'client', 'tools/call work');
  expect(north).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
  expect(server.metas[0]).toMatchObject({ traceparent: `00-${TRACE}-${south.spanId}-01` });
});

import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { withToken } from '../../support/console.ts';
import { httpGateway, temporaryFolder, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { send } from '../../support/raw-http.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import type { Wire } from '../direct/wire.ts';
import { ADA, BEN, serverNames, TOKENS } from '../principals/two-hubs.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];
const ERAS = ['legacy', 'modern'] as const;

/** Ben may use the server `open`, of which not the tool `slow`, and nothing of `secret`. */
const ACCESS = [
  { principals: ['ada'], then: 'allow' },
  { servers: ['open'], tools: ['slow'], then: 'deny' },
  { principals: ['ben'], servers: ['open'], then: 'allow' },
];

interface Started {
  gateway: TestGateway;
  open: V1Http;
  secret: V1Http;
}

async function started(settings: SettingsInput = {}): Promise<Started> {
  const [open, secret] = [owned(await startV1Http()), owned(await startV1Http())];
  const servers = { open: { url: open.url }, secret: { url: secret.url } };
  const groups = { pair: { servers: ['open', 'secret'] } };
  const gateway = await httpGateway(servers, { auth: { tokens: TOKENS }, access: ACCESS, groups, ...settings });
  return { gateway, open, secret };
}

const wireAt = async (era: (typeof ERAS)[number], url: string, headers: Record<string, string>): Promise<Wire> =>
  era === 'legacy' ? LegacyWire.open(url, { headers }) : new ModernWire(url, { headers });

const namesIn = (list: unknown): string[] => (list as { name: string }[]).map(({ name }) => name);
const callsOf = ({ state }: V1Http): string[] => state.calls.map(({ tool }) => tool);

async function toolsOf(hub: HubClient): Promise<string[]> {
  const { body } = await hub.call('list_tools', { brief: true });
  return (body['tools'] as { server: string; name: string }[]).map(({ server, name }) => `${server}/${name}`);
}

test.each(KINDS)(
  'A-P: the hub hides a server that a principal may not use, and refuses its tools (%s)',
  async (kind) => {
    const { gateway, open, secret } = await started();
    const [ada, ben] = await Promise.all([hubOverHttp(gateway.url, kind, ADA), hubOverHttp(gateway.url, kind, BEN)]);
    expect(await serverNames(ada)).toEqual(['open', 'secret']);
    expect(await serverNames(ben)).toEqual(['open']);
    const tools = await toolsOf(ben);
    expect(tools).toContain('open/echo');
    expect(tools.filter((tool) => tool.startsWith('secret/') || tool === 'open/slow')).toEqual([]);
    expect(await toolsOf(ada)).toEqual(expect.arrayContaining(['open/slow', 'secret/echo']));
    const attempts = await Promise.all([
      ben.call('execute_tool', { server: 'secret', tool: 'echo', args: { text: 'x' } }),
      ben.call('get_server_status', { server: 'secret' }),
      ben.call('list_tools', { server: 'secret' }),
      ben.call('list_resources', { server: 'secret' }),
      ben.call('list_resource_templates', { server: 'secret' }),
      ben.call('list_prompts', { server: 'secret' }),
      ben.call('get_prompt', { server: 'secret', name: 'plain' }),
      ben.call('get_logs', { server: 'secret' }),
      ben.call('get_notifications', { server: 'secret', include_delivered: true }),
      ben.call('read_resource', { server: 'secret', uri: 'test://text' }),
      ben.call('subscribe_resource', { server: 'secret', uri: 'test://watched' }),
      ben.call('remove_server', { name: 'secret' }),
    ]);
    for (const { code, text } of attempts) {
      expect(code, text).toBe('TOOL_ERR_SERVER_NOT_FOUND');
      expect(text).toContain("no server 'secret'; known: open");
    }
    const resources = (await ben.call('list_resources')).body['resources'] as { server: string }[];
    expect(new Set(resources.map(({ server }) => server))).toEqual(new Set(['open']));
    const slow = await ben.call('execute_tool', { server: 'open', tool: 'slow', args: { ms: 1 } });
    const unknown = await ben.call('execute_tool', { server: 'open', tool: 'nothing', args: {} });
    expect([slow.code, slow.isError]).toEqual([unknown.code, true]);
    expect(slow.text).not.toContain('slow, ');
    expect((await ben.call('execute_tool', { server: 'open', tool: 'echo', args: { text: 'ok' } })).text).toBe('ok');
    expect((await ada.call('execute_tool', { server: 'open', tool: 'slow', args: { ms: 1 } })).isError).toBe(false);
    expect([callsOf(open).filter((tool) => tool === 'slow').length, callsOf(secret)]).toEqual([1, []]);
  },
);

test.each(ERAS)(
  'A-P: /mcp/<server> answers for a hidden server as for an unknown one, and hides tools (%s)',
  async (era) => {
    const { gateway, open } = await started();
    await expect(
      (async () => (await wireAt(era, `${gateway.url}/secret`, BEN)).request('tools/list'))(),
    ).rejects.toThrow("no server 'secret'; known: open");
    const ben = await wireAt(era, `${gateway.url}/open`, BEN);
    const first = await ben.request('tools/list');
    const pages = [first];
    for (let cursor = first['nextCursor']; cursor !== undefined;) {
      const page = await ben.request('tools/list', { cursor });
      pages.push(page);
      cursor = page['nextCursor'];
    }
    const names = pages.flatMap(({ tools }) => namesIn(tools));
    expect(names).toContain('echo');
    expect(names).not.toContain('slow');
    expect(await ben.error('tools/call', { name: 'slow', arguments: { ms: 1 } })).toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown tool: slow') as string,
    });
    // A call that is not well-formed must not pass the rules by.
    expect(await ben.error('tools/call', { name: 'slow', arguments: ['x'] })).toBeDefined();
    expect(await ben.error('tools/call', { name: ['slow'], arguments: {} })).toBeDefined();
    expect(callsOf(open)).toEqual([]);
    const ada = await wireAt(era, `${gateway.url}/open`, ADA);
    expect(await ada.call('slow', { ms: 1 })).toMatchObject({ content: [{ type: 'text' }] });
  },
);

test.each(ERAS)('A-P: /mcp/all and groups contain only the tools that a principal may use (%s)', async (era) => {
  const { gateway, secret } = await started();
  for (const name of ['all', 'pair']) {
    const ben = await wireAt(era, `${gateway.url}/${name}`, BEN);
    const { tools } = await ben.request('tools/list');
    const names = namesIn(tools);
    expect(names).toContain('open__echo');
    expect(names.filter((tool) => tool.startsWith('secret__') || tool === 'open__slow')).toEqual([]);
    expect(JSON.stringify(await ben.request('resources/list'))).not.toContain('secret');
    expect(JSON.stringify(await ben.request('prompts/list'))).not.toContain('secret');
    for (const tool of ['secret__echo', 'open__slow']) {
      expect(await ben.error('tools/call', { name: tool, arguments: { text: 'x', ms: 1 } })).toMatchObject({
        code: -32602,
      });
    }
    expect(await ben.error('prompts/get', { name: 'secret__plain' })).toMatchObject({ code: -32602 });
    // The address that a client of somebody else was given.
    const ada = await wireAt(era, `${gateway.url}/${name}`, ADA);
    const listed = (await ada.request('resources/list'))['resources'] as { uri: string }[];
    const its = listed.map(({ uri }) => uri).find((uri) => uri.includes('secret'));
    expect(its).toBeDefined();
    expect(await ben.error('resources/read', { uri: its })).toBeDefined();
    const ref = { type: 'ref/prompt', name: 'secret__greet' };
    const completed = await ben.send('completion/complete', { ref, argument: { name: 'who', value: 'a' } });
    expect(completed.error ?? completed.result).not.toMatchObject({ completion: { values: [expect.anything()] } });
  }
  expect(callsOf(secret)).toEqual([]);
});

test('A-P: API and console show only the servers and tools that a principal may use', async () => {
  const { gateway } = await started({ addServerAddresses: 'any' });
  const [ada, ben] = [withToken(gateway, TOKENS.ada), withToken(gateway, TOKENS.ben)];
  expect(namesIn(await ada.items('/servers'))).toEqual(['open', 'secret']);
  expect(namesIn(await ben.items('/servers'))).toEqual(['open']);
  expect((await ben.get('/servers/secret')).status).toBe(404);
  expect((await ben.post('/servers/secret/connect')).status).toBe(404);
  const tried = await ben.post('/servers/secret/calls', { tool: 'echo', arguments: { text: 'x' } });
  expect([tried.status, tried.text]).toEqual([404, expect.stringContaining("no server 'secret'")]);
  const slow = await ben.post('/servers/open/calls', { tool: 'slow', arguments: { ms: 1 } });
  expect([slow.status, slow.text]).toEqual([404, expect.stringContaining("no tool 'slow'")]);
  expect((await ben.post('/servers/open/connect')).status).toBe(200);
  const { tools } = (await ben.get('/servers/open')).body;
  expect(namesIn(tools)).toContain('echo');
  expect(namesIn(tools)).not.toContain('slow');
  expect((await ben.post('/servers/open/calls', { tool: 'echo', arguments: { text: 'x' } })).status).toBe(202);
});

test('A-P: only principals with access to all servers can read metrics', async () => {
  const { gateway } = await started();
  const url = gateway.url.replace('/mcp', '/metrics');
  expect((await send(url, { method: 'GET', headers: ADA })).status).toBe(200);
  expect((await send(url, { method: 'GET', headers: BEN })).status).toBe(403);
});

test('A-P: adding a server under the name of a hidden one is refused without naming it', async () => {
  const { gateway, open } = await started({ addServerAddresses: 'any', allowServerChanges: true });
  const ben = await hubOverHttp(gateway.url, 'v1', BEN);
  const refused = await ben.call('add_server', { name: 'secret', url: open.url });
  expect([refused.code, refused.text]).toEqual(['TOOL_ERR_NOT_ALLOWED', expect.not.stringContaining('config file')]);
  const ada = await hubOverHttp(gateway.url, 'v1', ADA);
  expect((await ada.call('remove_server', { name: 'secret' })).isError).toBe(false);
  const { events } = await ben.call('await_activity', { timeout_ms: 1 });
  expect(JSON.stringify(events)).not.toContain('secret');
  // What a principal adds is its own, whatever the rules say.
  expect((await ben.call('add_server', { name: 'mine', url: open.url })).isError).toBe(false);
  expect((await ben.call('execute_tool', { server: 'mine', tool: 'slow', args: { ms: 1 } })).isError).toBe(false);
});

test('A-P, A-13: a task id or a state name gives no access to servers that a principal may not use', async () => {
  const { gateway } = await started();
  const ada = await hubOverHttp(gateway.url, 'modern', ADA);
  const begun = await ada.call('execute_tool', {
    server: 'secret',
    tool: 'slow',
    args: { ms: 60_000 },
    timeout_ms: 0,
  });
  const taskId = taskIdOf(begun);
  for (const hub of [
    await hubOverHttp(gateway.url, 'modern', BEN),
    await hubOverHttp(`${gateway.url}?as=test`, 'modern', BEN),
  ]) {
    for (const tool of ['get_task', 'get_task_result', 'cancel_task']) {
      expect((await hub.call(tool, { task_id: taskId })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
    }
    expect((await hub.call('list_tasks', { include_completed: true })).body['tasks']).toEqual([]);
  }
});

test.each(['changed rules', 'the same rules'])(
  'A-P: after a restart a task continues only if its tool is still allowed (%s)',
  async (what) => {
    const store = `${await temporaryFolder()}/store.db`;
    const server = owned(await startTasksV2Http());
    const servers = { tasks: { url: server.url } };
    const settings = { auth: { tokens: TOKENS }, store };
    const before = await httpGateway(servers, { ...settings, access: [{ principals: ['ben'], then: 'allow' }] });
    const ben = await hubOverHttp(before.url, 'modern', BEN);
    const tool = 'slow';
    const begun = await ben.call('execute_tool', { server: 'tasks', tool, args: { ms: 60_000 }, timeout_ms: 0 });
    const taskId = taskIdOf(begun);
    // The server keeps it as a task, so that it can go on.
    await expect
      .poll(async () => JSON.stringify((await ben.call('get_task', { task_id: taskId })).body))
      .toContain('working');
    await before.close();
    const rules = what === 'the same rules' ? [] : [{ servers: ['tasks'], tools: ['slow'], then: 'deny' }];
    const after = await httpGateway(servers, {
      ...settings,
      access: [...rules, { principals: ['ben'], then: 'allow' }],
    });
    const again = await hubOverHttp(after.url, 'modern', BEN);
    const state = await again.call('get_task', { task_id: taskId });
    if (what === 'the same rules') {
      expect((state.body['task'] as Json)['status']).toBe('working');
      await again.call('cancel_task', { task_id: taskId });
    } else {
      expect(state.code).toBe('TOOL_ERR_TASK_NOT_FOUND');
      expect((await again.call('list_tasks', { include_completed: true })).body['tasks']).toEqual([]);
    }
  },
);

test('A-P: without a matching rule a principal sees nothing, also the local principal', async () => {
  const server = owned(await startV1Http());
  const gateway = await httpGateway(
    { one: { url: server.url } },
    { access: [{ principals: ['local'], then: 'allow' }] },
  );
  const hub = await hubOverHttp(gateway.url, 'v1');
  expect(await serverNames(hub)).toEqual(['one']);
  const closed = await httpGateway({ one: { url: server.url } }, { access: [] });
  expect(await serverNames(await hubOverHttp(closed.url, 'v1'))).toEqual([]);
});

import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

async function twoServers(): Promise<HubClient> {
  const old = owned(await startV1Http());
  const recent = owned(await startV2Http({ era: 'modern' }));
  const { url } = await httpGateway({ old: { url: old.url }, recent: { url: recent.url } });
  return hubOverHttp(url);
}

async function list(hub: HubClient, tool: string, key: string, args: Json = {}): Promise<Json[]> {
  const { body } = await hub.call(tool, args);
  expect(body).not.toHaveProperty('unavailable');
  return body[key] as Json[];
}

test('H-8: lists contain all pages of all servers', async () => {
  const hub = await twoServers();
  const names = (items: Json[], server: string): unknown[] =>
    items.filter((item) => item['server'] === server).map((item) => item['name']);

  const tools = await list(hub, 'list_tools', 'tools');
  // Three a page there: the first of the first page, and some that are far behind it.
  expect(names(tools, 'old')).toEqual(expect.arrayContaining(['echo', 'ask', 'sample_tools', 'notify', 'grandchild']));
  expect(names(tools, 'old').length).toBeGreaterThan(15);
  expect(names(tools, 'recent')).toEqual(expect.arrayContaining(['echo', 'ask', 'fail']));

  const resources = await list(hub, 'list_resources', 'resources');
  expect(names(resources, 'old')).toEqual(['text', 'blob', 'watched', 'json', 'meta']);
  expect(names(resources, 'recent')).toEqual(['text', 'json', 'more']);

  const prompts = await list(hub, 'list_prompts', 'prompts');
  expect(names(prompts, 'old')).toEqual(['plain', 'greet', 'meta']);
  expect(names(prompts, 'recent')).toEqual(['plain', 'greet', 'last']);

  const templates = await list(hub, 'list_resource_templates', 'resourceTemplates', { server: 'old' });
  expect(templates).toEqual([
    { server: 'old', uriTemplate: 'test://item/{id}', name: 'item', title: 'An item', mimeType: 'text/plain' },
  ]);
});

test('H-8: list_tools keeps title, schemas, annotations and metadata', async () => {
  const hub = await twoServers();
  const [echo] = await list(hub, 'list_tools', 'tools', { server: 'old', pattern: 'echo' });
  expect(echo).toMatchObject({
    server: 'old',
    name: 'echo',
    title: 'Echo',
    description: 'Returns the text it was given',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { title: 'Echo', readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  });
  for (const server of ['old', 'recent']) {
    const [rich] = await list(hub, 'list_tools', 'tools', { server, pattern: 'rich' });
    expect(rich).toMatchObject({
      title: 'Everything at once',
      outputSchema: { type: 'object', properties: { total: { type: 'number' } } },
      _meta: { 'vendor.example/tool': { tier: 2 } },
    });
  }
  const resources = await list(hub, 'list_resources', 'resources', { server: 'old' });
  expect(resources).toContainEqual(
    expect.objectContaining({ name: 'json', mimeType: 'application/json', annotations: { priority: 0.3 } }),
  );
  expect(resources).toContainEqual(
    expect.objectContaining({ name: 'meta', _meta: { 'vendor.example/resource': true } }),
  );
});

test('H-8: list_tools filters by server and by pattern', async () => {
  const hub = await twoServers();
  const named = async (args: Json): Promise<string[]> =>
    (await list(hub, 'list_tools', 'tools', args)).map(({ server, name }) => `${String(server)}/${String(name)}`);
  expect(await named({ pattern: 'ASK_*' })).toEqual(
    expect.arrayContaining(['old/ask_twice', 'old/ask_detached', 'old/ask_url', 'recent/ask_twice']),
  );
  expect(await named({ pattern: 'ask_*' })).not.toContain('old/ask');
  expect(await named({ server: 'recent', pattern: 'ec' })).toEqual(['recent/echo']);
  expect(await named({ server: 'old', pattern: '?cho' })).toEqual(['old/echo']);
  expect(await named({ pattern: 'no such tool' })).toEqual([]);
});

test('H-8, S-2: an unreachable server does not hide the lists of others', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ here: { url: server.url }, away: { url: 'http://127.0.0.1:1/' } });
  const hub = await hubOverHttp(url);
  const { body } = await hub.call('list_resources');
  expect((body['resources'] as Json[]).map(({ server: from }) => from)).toContain('here');
  expect(body['unavailable']).toEqual([{ server: 'away', error: expect.stringContaining('ECONNREFUSED') }]);
});

import { expect, test } from 'vitest';
import { LegacyWire } from '../e2e/direct/legacy-wire.ts';
import { ModernWire } from '../e2e/direct/modern-wire.ts';
import { startV1Http } from '../servers/v1-http.ts';
import { withToken } from '../support/console.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../support/hub.ts';
import { owned } from '../support/owned.ts';
import { INITIALIZE, post } from '../support/raw-http.ts';
import { startAuthorizationServer } from './authorization-server.ts';
import { handmadeIssuer } from './issuer.ts';

const PUBLIC_URL = 'https://gateway.example.com';
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const namesIn = (list: unknown): string[] => (list as { name: string }[]).map(({ name }) => name);

async function gatewayWith(issuer: string, access: SettingsInput[]): Promise<TestGateway> {
  const [open, secret] = [owned(await startV1Http()), owned(await startV1Http())];
  const servers = { open: { url: open.url }, secret: { url: secret.url } };
  return httpGateway(servers, { publicUrl: PUBLIC_URL, auth: { issuers: [{ issuer }] }, access });
}

test('A-P, A-8, A-9: with a real authorization server, the scopes of a token decide at every endpoint', async () => {
  const server = await startAuthorizationServer('jwt');
  const gateway = await gatewayWith(server.issuer, [
    { scopes: ['mcp:answer'], then: 'allow' },
    { scopes: ['mcp:use'], servers: ['open'], tools: ['echo'], then: 'allow' },
  ]);
  const [user, operator] = [
    await server.token(`${PUBLIC_URL}/mcp`, 'mcp:use'),
    await server.token(`${PUBLIC_URL}/mcp`, 'mcp:use mcp:operate'),
  ];
  const hub = await hubOverHttp(gateway.url, 'modern', bearer(user), 'user');
  expect(namesIn((await hub.call('list_servers')).body['servers'])).toEqual(['open']);
  expect(namesIn((await hub.call('list_tools')).body['tools'])).toEqual(['echo']);
  // Whoever may operate may also answer.
  const wide = await hubOverHttp(gateway.url, 'modern', bearer(operator), 'operator');
  expect(namesIn((await wide.call('list_servers')).body['servers'])).toEqual(['open', 'secret']);
  expect((await post(`${gateway.url}/secret`, INITIALIZE, bearer(user))).status).toBe(404);
  expect((await post(`${gateway.url}/secret`, INITIALIZE, bearer(operator))).status).toBe(200);
  const all = new ModernWire(`${gateway.url}/all`, { headers: bearer(user) });
  expect(namesIn((await all.request('tools/list'))['tools'])).toEqual(['open__echo']);
  const console = withToken(gateway, user);
  expect(namesIn(await console.items('/servers'))).toEqual(['open']);
  expect((await console.get('/servers/secret')).status).toBe(404);
});

test('A-P: each request uses the access of its own token, even in a state shared by two tokens of a principal', async () => {
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const gateway = await gatewayWith(issuer.url, [
    { claims: { groups: 'engineering' }, then: 'allow' },
    { principals: [`*@${issuer.url}`], servers: ['open'], then: 'allow' },
  ]);
  const [wide, narrow] = [
    bearer(await issuer.token({ groups: ['engineering'] })),
    bearer(await issuer.token({ groups: ['sales'] })),
  ];
  const [one, other] = await Promise.all(
    [wide, narrow].map(async (headers) => hubOverHttp(`${gateway.url}?as=shared`, 'modern', headers)),
  );
  const begun = await one?.call('execute_tool', {
    server: 'secret',
    tool: 'slow',
    args: { ms: 60_000 },
    timeout_ms: 0,
  });
  const taskId = taskIdOf(begun as NonNullable<typeof begun>);
  expect((await other?.call('get_task', { task_id: taskId }))?.code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  expect((await other?.call('list_tasks'))?.body['tasks']).toEqual([]);
  expect((await other?.call('await_activity', { timeout_ms: 1 }))?.text).not.toContain('secret');
  // At the same moment, in the same state.
  const lists = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => (index % 2 === 0 ? one : other)?.call('list_servers')),
  );
  for (const [index, list] of lists.entries()) {
    const names = namesIn(list?.body['servers']);
    if (index % 2 === 1) expect(names).toEqual(['open']);
  }
  expect(namesIn((await one?.call('list_servers'))?.body['servers'])).toEqual(['open', 'secret']);
  expect((await one?.call('get_task', { task_id: taskId }))?.isError).toBe(false);
  // The API tells the narrow token nothing of the calls at the other server.
  const api = withToken(gateway, (narrow['authorization'] ?? '').slice('Bearer '.length));
  await expect.poll(async () => (await api.get('/calls')).status).toBe(200);
  expect(JSON.stringify(await api.items('/calls'))).not.toContain('secret');
  await one?.call('cancel_task', { task_id: taskId });
});

test('A-P: a session can continue with a token of other access, and its client gets list_changed', async () => {
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const gateway = await gatewayWith(issuer.url, [
    { claims: { groups: 'engineering' }, then: 'allow' },
    { servers: ['open'], tools: ['echo'], then: 'allow' },
  ]);
  const headers = bearer(await issuer.token());
  const wire = await LegacyWire.open(`${gateway.url}/open`, { headers });
  expect(namesIn((await wire.request('tools/list'))['tools'])).toEqual(['echo']);
  const stream = await wire.listen();
  // The client goes on with another token.
  const more = bearer(await issuer.token({ groups: ['engineering'] }));
  const stepped = new LegacyWire(`${gateway.url}/open`, wire.sessionId, more);
  expect(await stepped.call('slow', { ms: 1 })).toMatchObject({ content: [{ type: 'text' }] });
  // The stream that the old token has opened ends, and tells the news before.
  await stream.raw.ended;
  expect(stream.told('notifications/tools/list_changed')).toHaveLength(1);
  expect(await wire.error('tools/call', { name: 'slow', arguments: { ms: 1 } })).toMatchObject({ code: -32602 });
});

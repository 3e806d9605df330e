import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient, type Json } from '../../support/hub.ts';
import { oddChild, oddServer } from './odd-server.ts';

async function hubTo(server: { url: string } | ReturnType<typeof oddChild>): Promise<HubClient> {
  return hubOverHttp((await httpGateway({ odd: server })).url);
}

test('H-12: the error of a server for an unlisted tool keeps its code and data', async () => {
  const server = await oddServer({
    'tools/list': ({ reply }) => reply({ tools: [{ name: 'front', inputSchema: { type: 'object' } }] }),
    'tools/call': ({ fail }) => fail(-32042, 'the back door sticks', { push: 'harder' }),
  });
  const hub = await hubTo({ url: server.url });
  const reply = await hub.call('execute_tool', { server: 'odd', tool: 'back' });
  expect(reply.isError).toBe(true);
  expect(reply.body['error']).toMatchObject({
    details: { error: { code: -32042, message: 'the back door sticks', data: { push: 'harder' } } },
  });
});

test('E-3: a log entry with an unknown level is shown', async () => {
  const hub = await hubTo(oddChild());
  await hub.call('execute_tool', { server: 'odd', tool: 'warn', args: { text: 'disk nearly full' } });
  await vi.waitFor(async () => {
    const { body } = await hub.call('get_logs');
    expect(body['logs']).toMatchObject([{ server: 'odd', level: 'warn', data: 'disk nearly full' }]);
  }, 10_000);
});

test('H-8: a `server` field in a tool does not change its server name', async () => {
  const hub = await hubTo(oddChild());
  const tools = (await hub.call('list_tools')).body['tools'] as Json[];
  expect(tools.map(({ server, name }) => `${String(server)}:${String(name)}`)).toContain('odd:echo');
  expect(tools.filter(({ server }) => server !== 'odd')).toEqual([]);
});

test('S-3: a failed add_server for a configured server keeps it and says that it is configured', async () => {
  const gone = await startV1Http();
  await gone.close();
  const { url } = gone;
  const hub = await hubTo({ url });
  const reply = await hub.call('add_server', { name: 'odd', url });
  expect(reply.code).toBe('TOOL_ERR_SERVER_UNREACHABLE');
  const { message } = reply.body['error'] as { message: string };
  expect(message).not.toContain('not added');
  expect(message).toContain('already has this configuration');
  expect((await hub.call('list_servers')).body['servers']).toMatchObject([{ name: 'odd', url }]);
});

import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { oddServer, type Handler } from '../robust/odd-server.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { owned } from '../../support/owned.ts';
import { echo } from './activity.ts';

async function names(hub: HubClient): Promise<string[]> {
  const { body } = await hub.call('list_servers');
  return (body['servers'] as { name: string }[]).map(({ name }) => name);
}

test('S-3, X-4: invalid entries of a tool list are left out, and the server is added', async () => {
  const tool = { name: 'works', inputSchema: { type: 'object' } };
  const { url: odd } = await oddServer({
    'tools/list': ({ reply }) => reply({ tools: [null, 5, 'text', [], {}, { name: 7 }, tool] }),
  });
  const { url } = await httpGateway({});
  const hub = await hubOverHttp(url);
  const added = await hub.call('add_server', { name: 'odd', url: odd });
  expect(added).toMatchObject({ isError: false, body: { name: 'odd', tools: [{ name: 'works' }] } });
  expect(await names(hub)).toEqual(['odd']);
});

const BROKEN: Record<string, Handler> = {
  'refuses to list its tools': ({ fail }) => fail(-32603, 'the list is broken'),
  'never stops listing them': ({ reply }) => reply({ tools: [], nextCursor: 'again' }),
};

test.each(Object.entries(BROKEN))('S-3: a server that %s is not added and replaces no other', async (_how, list) => {
  const good = owned(await startV1Http());
  const { url: odd } = await oddServer({ 'tools/list': list });
  const { url } = await httpGateway({ one: { url: good.url } });
  const hub = await hubOverHttp(url);
  const refused = await hub.call('add_server', { name: 'odd', url: odd });
  expect(refused).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_UNREACHABLE' });
  expect(refused.text).toContain('was not added');
  expect(await hub.call('add_server', { name: 'one', url: odd })).toMatchObject({ isError: true });
  expect(await names(hub)).toEqual(['one']);
  expect(await echo(hub, 'one', 'still there')).toBe('still there');
});

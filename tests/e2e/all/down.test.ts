import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { clientAt, ERAS, toolsOf, watch } from '../../support/group-clients.ts';
import { defer, owned } from '../../support/owned.ts';
import { portToReturnTo } from '../../support/port-to-return-to.ts';
import { textOf } from '../direct/answered.ts';

const SETTINGS = { servers: { reconnect: { firstMs: 20, maxMs: 50, attempts: 1000 } } };

test('M-4: a server that starts late, stops and returns does not affect the others, in both eras', async () => {
  const port = portToReturnTo();
  const steady = owned(await startV2Http({ era: 'modern' }));
  const servers = { late: { url: `http://127.0.0.1:${port}/mcp` }, steady: { url: steady.url } };
  const { url } = await httpGateway(servers, SETTINGS);
  const clients = await Promise.all(ERAS.map(async (era) => clientAt(era, `${url}/all`)));
  const watching = await Promise.all(
    clients.map(async (client) => {
      expect(await toolsOf(client)).not.toContain('late__echo');
      expect(textOf(await client.call('steady__echo', { text: 'here' }))).toBe('here');
      expect((await client.error('tools/call', { name: 'late__echo', arguments: { text: 'a' } }))?.message).toContain(
        "'late'",
      );
      return { client, stream: await watch(client) };
    }),
  );
  const first = await startV1Http({ port });
  for (const { client, stream } of watching) {
    await stream.heard('notifications/tools/list_changed');
    expect(await toolsOf(client)).toEqual(expect.arrayContaining(['late__echo', 'steady__echo']));
    expect(textOf(await client.call('late__echo', { text: 'there' }))).toBe('there');
  }
  await first.close();
  for (const { client } of watching) {
    expect(await toolsOf(client)).toContain('late__echo');
    expect(textOf(await client.call('steady__echo', { text: 'here' }))).toBe('here');
  }
  owned(await startV1Http({ port }));
  for (const { client } of watching) {
    await expect
      .poll(async () => (await client.send('tools/call', echo)).result)
      .toMatchObject({
        content: [{ text: 'again' }],
      });
  }
});

const echo = { name: 'late__echo', arguments: { text: 'again' } };

test('M-4, P-3: a store that cannot be written delays tasks, and not lists', async () => {
  const one = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const { url } = await httpGateway({ one: { url: one.url } }, { store });
  const client = await clientAt('legacy', `${url}/all`);
  const other = new Database(store);
  defer(async () => void other.close());
  other.exec('BEGIN IMMEDIATE');
  let told = false;
  const setting = client.send('logging/setLevel', { level: 'info' }).finally(() => {
    told = true;
  });
  await expect.poll(() => [...one.state.sessions].map(({ logLevel }) => logLevel)).toContain('info');
  expect(await toolsOf(client)).toContain('one__echo');
  expect(told).toBe(false);
  other.exec('COMMIT');
  expect((await setting).result).toEqual({});
});

test.each(ERAS)('M-6: a hidden tool is not listed at /mcp/all, and cannot be called (%s)', async (era) => {
  const one = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: one.url, exclude: ['pid', 'crash'] } });
  const client = await clientAt(era, `${url}/all`);
  expect((await client.error('tools/call', { name: 'one__pid' }))?.code).toBe(-32602);
  const tools = await toolsOf(client);
  expect(tools).toContain('one__echo');
  expect(tools).not.toContain('one__pid');
  expect((await client.error('tools/call', { name: 'one__pid' }))?.code).toBe(-32602);
  expect(one.state.calls).toEqual([]);
});

import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { send } from '../../support/raw-http.ts';

const WAYS = {
  deleted: (store: string) => rm(store),
  'replaced by another': async (store: string) => {
    await copyFile(store, `${store}.backup`);
    await rename(`${store}.backup`, store);
  },
};

async function setup(): Promise<{ running: TestGateway; store: string; hub: HubClient; ready: () => Promise<number> }> {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const running = await httpGateway({ one: { url: server.url } }, { store });
  const address = `${new URL(running.url).origin}/readyz`;
  const ready = async (): Promise<number> => (await send(address, { method: 'GET' })).status;
  return { running, store, hub: await hubOverHttp(running.url), ready };
}

const slow = (ms: number) => ({ server: 'one', tool: 'slow', args: { ms, text: 'in the end' }, timeout_ms: 1 });

const told = ({ logs }: TestGateway) => logs.filter(({ event }) => event === 'store_gone');

test.each(Object.entries(WAYS))('O-2, P-1: a gateway whose store file was %s is not ready', async (_how, change) => {
  const { running, store, ready } = await setup();
  expect(await ready()).toBe(200);
  await change(store);
  expect(await ready()).toBe(503);
  expect(await ready()).toBe(503);
  expect(told(running)).toMatchObject([{ level: 'error', data: { path: store } }]);
});

test.each(Object.entries(WAYS))(
  'P-3: after the store file was %s new tasks are refused, earlier ones are kept and fast calls work',
  async (_how, change) => {
    const { running, store, hub } = await setup();
    const promised = taskIdOf(await hub.call('execute_tool', slow(1000)));
    await change(store);
    const refused = await hub.call('execute_tool', slow(60_000));
    expect(refused.code).toBe('TOOL_ERR_STORE');
    expect(refused.text).toContain('restart the gateway');
    // The call goes on until the restart; a client that repeats it would run the tool twice.
    const { body } = await hub.call('list_tasks', { server: 'one' });
    const going = (body['tasks'] as { task_id: string }[]).find(({ task_id }) => task_id !== promised);
    expect(refused.text).toContain(`still running as task ${going?.task_id}: do not repeat it`);
    const fast = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'fast' } });
    expect(fast.text).toBe('fast');
    expect((await hub.call('get_task_result', { task_id: promised })).text).toBe('in the end');
    expect(told(running)).toHaveLength(1);
  },
);

test('O-2: a gateway with a store in memory is ready', async () => {
  const { url } = await httpGateway({}, { store: ':memory:' });
  expect((await send(`${new URL(url).origin}/readyz`, { method: 'GET' })).status).toBe(200);
});

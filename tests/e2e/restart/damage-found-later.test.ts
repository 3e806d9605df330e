import { open } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder, type TestGateway } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { post, rawSession, send, toolCall, type RawAnswer, type RawSession } from '../../support/raw-http.ts';

interface Setup {
  running: TestGateway;
  store: string;
  /** Somebody who came after the restart. */
  client: RawSession;
  /** What somebody gets who comes back to a session that cannot be read. */
  comeBack: () => Promise<RawAnswer>;
}

/** A gateway on a store that is damaged where it is read only when a client comes back. */
async function setup(): Promise<Setup> {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const servers = { one: { url: server.url } };
  const before = await httpGateway(servers, { store });
  const { headers } = await rawSession(before.url);
  await before.close();
  await damage(store, 'questions_by_session');
  const running = await httpGateway(servers, { store });
  const client = await rawSession(running.url);
  const comeBack = async (): Promise<RawAnswer> => post(running.url, toolCall('list_tasks'), headers);
  return { running, store, client, comeBack };
}

async function damage(store: string, name: string): Promise<void> {
  const db = new Database(store, { readonly: true });
  const { rootpage } = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name) as Record<
    'rootpage',
    number
  >;
  const [{ page_size: size }] = db.pragma('page_size') as [{ page_size: number }];
  db.close();
  const file = await open(store, 'r+');
  await file.write(Buffer.alloc(size, 0xff), 0, size, (rootpage - 1) * size);
  await file.close();
}

const found = ({ logs }: TestGateway) => logs.filter(({ event }) => event === 'store_damaged');

const slow = (ms: number) => ({ server: 'one', tool: 'slow', args: { ms, text: 'in the end' }, timeout_ms: 1 });

test('P-4: damage that is found at run time is logged once', async () => {
  const { running, store, comeBack } = await setup();
  expect(found(running)).toEqual([]);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { status, text } = await comeBack();
    expect(status).toBe(503);
    expect(text).toContain('the store is damaged');
  }
  expect(found(running)).toMatchObject([{ level: 'error', data: { path: store } }]);
});

test('P-3, P-4: after damage is found new tasks are refused, fast calls work and earlier tasks are kept', async () => {
  const { running, client, comeBack } = await setup();
  const promised = taskIdOf(await client.reply('execute_tool', slow(1000)));
  await comeBack();
  const refused = await client.reply('execute_tool', slow(60_000));
  expect(refused.code).toBe('TOOL_ERR_STORE');
  expect(refused.text).toContain('restart the gateway');
  const fast = await client.reply('execute_tool', { server: 'one', tool: 'echo', args: { text: 'fast' } });
  expect(fast.text).toBe('fast');
  const result = await client.reply('get_task_result', { task_id: promised });
  expect(result.text).toBe('in the end');
  expect(found(running)).toHaveLength(1);
});

test('O-2, P-4: a gateway with a damaged store is not ready', async () => {
  const { running, comeBack } = await setup();
  const ready = `${new URL(running.url).origin}/readyz`;
  expect((await send(ready, { method: 'GET' })).status).toBe(200);
  await comeBack();
  const { status, json } = await send(ready, { method: 'GET' });
  expect(status).toBe(503);
  expect(json).toMatchObject({ status: 'not ready', problem: expect.stringContaining('damaged') });
});

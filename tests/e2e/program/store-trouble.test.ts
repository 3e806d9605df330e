import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { serveProgram } from '../../support/program.ts';
import { send } from '../../support/raw-http.ts';

function otherConnection(store: string): Database.Database {
  const db = new Database(store);
  defer(async () => void db.close());
  return db;
}

test('P-3: a task id is not returned until the task is written', async () => {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const program = await serveProgram(['--config', await configFile({ one: { url: server.url } }, { store })]);
  const hub = await hubOverHttp(program.url);
  await hub.call('list_tools');
  const other = otherConnection(store);
  // A write that was still to be made would stop the gateway before it gets to the call.
  await expect.poll(() => other.prepare('SELECT id FROM events').all()).toEqual([]);
  other.exec('BEGIN IMMEDIATE');
  let answered = false;
  const promoted = hub
    .call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 20 })
    .finally(() => {
      answered = true;
    });
  await expect.poll(() => server.state.calls).toHaveLength(1);
  // That something does not happen can only be seen by giving it time.
  await delay(500);
  expect(answered).toBe(false);
  other.exec('COMMIT');
  const id = taskIdOf(await promoted);
  expect(other.prepare('SELECT id FROM tasks').all()).toEqual([{ id }]);
});

test('P-3, O-2: a failing store is reported, unstored tasks are not returned, and the store recovers', async () => {
  const server = owned(await startV1Http());
  const store = join(await temporaryFolder(), 'store.db');
  const gateway = await httpGateway({ one: { url: server.url } }, { store });
  const ready = `${new URL(gateway.url).origin}/readyz`;
  const hub = await hubOverHttp(gateway.url);
  await hub.call('list_tools');
  expect((await send(ready, { method: 'GET' })).status).toBe(200);

  const other = otherConnection(store);
  other.exec('ALTER TABLE tasks RENAME TO elsewhere');
  const slow = { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 };
  const failed = await hub.call('execute_tool', slow);
  expect(failed.code).toBe('TOOL_ERR_STORE');
  expect(failed.events).toEqual([]);
  const notReady = await send(ready, { method: 'GET' });
  expect(notReady.status).toBe(503);
  expect(notReady.json).toMatchObject({ status: 'not ready', problem: expect.stringContaining('store') });
  // It is not dead: what needs no store goes on.
  expect((await send(ready.replace('readyz', 'healthz'), { method: 'GET' })).status).toBe(200);
  expect(gateway.logs.map(({ event }) => event)).toContain('store_write_failed');

  other.exec('ALTER TABLE elsewhere RENAME TO tasks');
  await expect.poll(async () => (await send(ready, { method: 'GET' })).status, { timeout: 10_000 }).toBe(200);
  // The call that could not be told of is there, and so are its events.
  const { events } = await hub.call('list_servers');
  expect(events.map(({ type }) => type)).toContain('task_created');
  expect((await hub.call('list_tasks')).body['tasks']).toHaveLength(1);
});

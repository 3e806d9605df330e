/** A session of which one stored record cannot be read harms no other session. */
import Database from 'libsql';
import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { httpGateway, temporaryFolder, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { soon } from '../flows/watch.ts';
import { echo } from '../servers/activity.ts';
import { rows } from './killable.ts';

interface Stage {
  /** The client whose session cannot be restored. */
  lost: HubClient;
  gateway: TestGateway;
}

/**
 * A gateway that was started again after a question of a session with a running task had become unreadable; with `stuck` it
 * cannot be set aside either.
 */
async function stage(kind: ClientKind, settings: SettingsInput = {}, { stuck = true } = {}): Promise<Stage> {
  const server = owned(await startTasksV2Http());
  const store = `${await temporaryFolder()}/store.db`;
  const servers = { ext: { url: server.url } };
  const first = await httpGateway(servers, { store, ...settings });
  const lost = await hubOverHttp(first.url, kind, {}, 'lost');
  const id = taskIdOf(await lost.call('execute_tool', { server: 'ext', tool: 'hold', timeout_ms: 0 }));
  await soon(() => rows(store, 'tasks').find((task) => task['id'] === id)).toHaveProperty('checkpoint');
  const { port } = new URL(first.url);
  await first.close();
  const db = new Database(store);
  db.prepare(`INSERT INTO questions (id, session_id, data) SELECT 'broken', session_id, 'null' FROM tasks`).run();
  if (stuck) db.exec(`CREATE TRIGGER stuck BEFORE INSERT ON set_aside BEGIN SELECT RAISE(ABORT, 'stuck'); END`);
  db.close();
  return { lost, gateway: await httpGateway(servers, { store, port: Number(port), ...settings }) };
}

test('P-2, X-3: failed attempts to restore a session do not count against the limits', async () => {
  const { lost, gateway } = await stage('v1', { tasks: { max: 3 } });
  for (let attempt = 0; attempt < 4; attempt += 1) {
    await expect(lost.call('list_tasks')).rejects.toThrow('TOOL_ERR_STORE');
  }
  const other = await hubOverHttp(gateway.url);
  expect(await echo(other, 'ext', 'there is room')).toBe('there is room');
});

test('S-5, H-12: an unknown task id is reported although a state cannot be restored', async () => {
  const { gateway } = await stage('modern');
  const other = await hubOverHttp(gateway.url, 'modern', {}, 'other');
  expect((await other.call('get_task', { task_id: 'unknown' })).code).toBe('TOOL_ERR_TASK_NOT_FOUND');
});

test('P-2: a session is restored without a record that cannot be read', async () => {
  const { lost, gateway } = await stage('v1', {}, { stuck: false });
  expect((await lost.call('list_tasks')).body['tasks']).toMatchObject([{ tool: 'hold', status: 'working' }]);
  expect(gateway.logs).toContainEqual(expect.objectContaining({ event: 'record_set_aside', level: 'error' }));
});

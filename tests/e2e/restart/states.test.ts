/** The states of clients without protocol sessions, after a restart and after an update. */
import Database from 'libsql';
import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { hubOverHttp, taskIdOf, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import { soon, tasksOf } from '../flows/watch.ts';
import { kill, killable, restart, rows } from './killable.ts';

const FAST = { servers: { reconnect: { firstMs: 50, maxMs: 200 } }, direct: { taskAfterMs: 50 } };
const ECHO = { server: 'ext', tool: 'required', args: { text: 'done' }, timeout_ms: 0 };

async function program(url: string, name: string): Promise<HubClient> {
  return hubOverHttp(url, 'modern', {}, name);
}

/** A task that has ended, with the event about it still undelivered. */
async function finished(store: string, hub: HubClient): Promise<string> {
  const id = taskIdOf(await hub.call('execute_tool', ECHO));
  await soon(() => rows(store, 'tasks').find((task) => task['id'] === id)?.['status']).toBe('completed');
  return id;
}

test('S-5, P-2: after a restart programs and named states keep their tasks, which are reachable by id', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ ext: { url: server.url } }, FAST);
  const { url, store } = gateway;
  const ids = {
    claude: await finished(store, await program(url, 'claude-code')),
    codex: await finished(store, await program(url, 'codex')),
    work: await finished(store, await program(`${url}?as=work`, 'codex')),
  };
  await restart(gateway);
  const codex = await program(url, 'codex');
  expect((await codex.call('get_task_result', { task_id: ids.claude })).text).toBe('done');
  expect(await tasksOf(codex)).toMatchObject([{ task_id: ids.codex }]);
  const claude = await program(url, 'claude-code');
  const reply = await claude.call('list_tasks', { include_completed: true });
  expect(reply.body['tasks']).toMatchObject([{ task_id: ids.claude }]);
  expect(reply.events.map(({ type, data }) => [type, data['taskId']])).toContainEqual(['task_completed', ids.claude]);
  expect(await tasksOf(await program(`${url}?as=work`, 'claude-code'))).toMatchObject([{ task_id: ids.work }]);
});

/** Makes the store what an earlier version would have left, which kept one state for each principal. */
function shareStates(store: string, ids: Record<string, string>): void {
  const db = new Database(store);
  try {
    for (const [today, then] of Object.entries(ids)) {
      db.prepare(
        `UPDATE sessions SET id = ?, data = json_remove(json_set(data, '$.id', ?), '$.owner.name') WHERE id = ?`,
      ).run(then, then, today);
      for (const table of ['tasks', 'questions', 'events']) {
        db.prepare(
          `UPDATE ${table} SET session_id = ?, data = json_set(data, '$.sessionId', ?) WHERE session_id = ?`,
        ).run(then, then, today);
      }
    }
  } finally {
    db.close();
  }
}

test('S-5, P-4: the state of an earlier version goes to the first program that connects, permanently', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ ext: { url: server.url } }, FAST);
  const { url, store } = gateway;
  const before = await program(url, 'claude-code');
  const done = await finished(store, before);
  const held = taskIdOf(await before.call('execute_tool', { server: 'ext', tool: 'hold', timeout_ms: 0 }));
  const wire = new ModernWire(`${url}/ext`, { program: 'claude-code' });
  const { taskId } = await wire.call('hold', { text: 'direct' });
  await soon(() => rows(store, 'tasks').filter(({ checkpoint }) => checkpoint !== undefined)).toHaveLength(2);
  await kill(gateway);
  shareStates(store, {
    'hub:program=claude-code:local': 'principal:local',
    'server:ext:program=claude-code:local': 'direct:ext:local',
  });
  for (const when of ['after the update', 'after another restart'] as const) {
    await gateway.start();
    const [first, second] = when === 'after the update' ? ['claude-code', 'codex'] : ['codex', 'claude-code'];
    const hubs = { [first]: await program(url, first), [second]: await program(url, second) };
    const idsOf = async (name: string): Promise<unknown[]> =>
      (await tasksOf(hubs[name] as HubClient)).map(({ task_id }) => task_id).filter((id) => id !== taskId);
    expect(await idsOf('codex'), when).toEqual([]);
    expect(await idsOf('claude-code'), when).toEqual([done, held]);
    expect((await hubs['codex']?.call('get_task_result', { task_id: done }))?.text, when).toBe('done');
    expect(await wire.request('tasks/get', { taskId }), when).toMatchObject({ status: 'working' });
    await kill(gateway);
  }
});

import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { rawSession } from '../../../support/raw-http.ts';
import { killable, restart, rows } from '../../restart/killable.ts';
import { soon } from '../../flows/watch.ts';
import { LegacyWire } from '../legacy-wire.ts';

test('P-2, D-7, T-4: an abandoned task and its question are at the hub also after a restart', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ far: { url: server.url } }, { servers: { reconnect: { firstMs: 50, maxMs: 200 } } });
  const hub = await rawSession(gateway.url);
  const wire = await LegacyWire.open(`${gateway.url}/far`, { capabilities: {} });
  const stream = await wire.callStream('ask', { message: 'Who?' });
  stream.drop();
  const questions = async () => (await hub.reply('get_elicitations')).body['elicitations'] as { requestId: string }[];
  await soon(async () => (await questions()).length).toBe(1);
  await soon(() => rows(gateway.store, 'tasks').filter(({ checkpoint }) => checkpoint !== undefined)).toHaveLength(1);
  await restart(gateway);
  const [asked] = await questions();
  const answer = { request_id: asked?.requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await hub.reply('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
  const { tasks } = (await hub.reply('list_tasks', { include_completed: true })).body as { tasks: Json[] };
  expect(tasks).toHaveLength(1);
  expect((await hub.reply('get_task_result', { task_id: tasks[0]?.['task_id'] })).text).toBe('Hello Ada');
});

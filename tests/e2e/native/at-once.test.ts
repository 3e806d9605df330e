import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { soon, tasksOf } from '../flows/watch.ts';
import { behind, KEEPERS, WAYS } from './ways.ts';

const TASKS = WAYS.filter(({ how }) => how.endsWith('task'));
const EXTENSION = WAYS.filter(({ how }) => how === 'extension task');

async function respond(hub: HubClient, request_id: string | undefined, content: Json): Promise<void> {
  const given = { request_id, action: 'accept', content };
  expect((await hub.call('respond_to_elicitation', given)).body).toMatchObject({ success: true });
}

test.each(TASKS)('H-5, B-6: two parallel questions of one call are both answered ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'ask_both' });
  const task_id = taskIdOf(promoted);
  await soon(async () => (await hub.call('get_elicitations')).elicitations.length).toBe(2);
  const { elicitations } = await hub.call('get_elicitations');
  expect(elicitations).toMatchObject([{ taskId: task_id }, { taskId: task_id }]);
  const [name, age] = ['What is your name?', 'How old are you?'].map((wanted) =>
    elicitations.find(({ message }) => message === wanted),
  );
  await respond(hub, age?.requestId, { age: 36 });
  // The other one stays open, and is not asked twice.
  expect((await hub.call('get_task_result', { task_id, timeout_ms: 200 })).elicitations).toMatchObject([
    { requestId: name?.requestId },
  ]);
  await respond(hub, name?.requestId, { name: 'Ada' });
  expect((await hub.call('get_task_result', { task_id })).text).toBe('Hello Ada, 36');
});

test.each(EXTENSION)('H-3, B-6: a call asks in a round first, then becomes a task that asks ($door)', async (way) => {
  const { hub } = await behind(way);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'round_then_task' });
  const task_id = taskIdOf(promoted);
  await respond(hub, promoted.elicitations[0]?.requestId, { name: 'Ada' });
  await soon(async () => (await hub.call('get_elicitations')).elicitations).toMatchObject([
    { message: 'How old are you?', taskId: task_id },
  ]);
  const [age] = (await hub.call('get_elicitations')).elicitations;
  await respond(hub, age?.requestId, { age: 36 });
  expect((await hub.call('get_task_result', { task_id })).text).toBe('Hello Ada, 36, after the first round');
});

test.each(KEEPERS)('B-6: fifty calls that each become a $how return their own results', async ({ start }) => {
  const { url, state } = await start();
  const hub = await hubOverHttp((await httpGateway({ one: { url } })).url);
  const calls = Array.from({ length: 50 }, async (_, index) => {
    const args = { ms: (index * 37) % 200, text: `result ${index}` };
    return hub.call('execute_tool', { server: 'one', tool: 'slow', args });
  });
  const replies = await Promise.all(calls);
  expect(replies.map(({ text }) => text)).toEqual(calls.map((_, index) => `result ${index}`));
  expect(await tasksOf(hub)).toEqual([]);
  // Which tools run as tasks is asked once, and not for each call.
  expect(requestsOf(state, 'tools/list').length).toBeLessThan(2);
});

test('B-6: the gateway ends its subscription to a task when the task ends', async () => {
  const { url, state } = owned(await startTasksV2Http());
  const hub = await hubOverHttp((await httpGateway({ one: { url } })).url);
  const call = { server: 'one', tool: 'hold', timeout_ms: 300 };
  const promoted = await Promise.all([1, 2, 3].map(() => hub.call('execute_tool', call)));
  await soon(() => state.listeners.size).toBe(3);
  const [cancelled, ...released] = promoted.map(taskIdOf);
  await hub.call('cancel_task', { task_id: cancelled });
  await soon(() => state.listeners.size).toBe(2);
  state.release();
  for (const task_id of released) await hub.call('get_task_result', { task_id });
  await soon(() => state.listeners.size).toBe(0);
});

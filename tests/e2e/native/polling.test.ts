import { expect, test } from 'vitest';
import { requestsOf, type TasksState } from '../../servers/tasks/state.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient } from '../../support/hub.ts';
import { settle, soon } from '../flows/watch.ts';
import { KEEPERS } from './ways.ts';

async function hubFor(url: string): Promise<HubClient> {
  const hub = await hubOverHttp((await httpGateway({ one: { url } })).url);
  await settle(hub);
  return hub;
}

/** When the server was asked how its task is doing. */
function polls({ received }: TasksState): number[] {
  return received.filter(({ message }) => message.method === 'tasks/get').map(({ at }) => at);
}

test.each(KEEPERS)('B-6: a server is not polled for its $how more often than its poll interval', async ({ start }) => {
  const { url, state } = await start({ pollMs: 250, notifies: false });
  const hub = await hubFor(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'hold', timeout_ms: 0 });
  await soon(() => polls(state).length).toBeGreaterThan(4);
  const moments = polls(state);
  for (const [index, moment] of moments.slice(1).entries()) {
    // A clock that counts whole milliseconds may see a wait as one shorter than it was.
    expect(moment - Number(moments[index])).toBeGreaterThanOrEqual(249);
  }
  state.release();
  await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
});

test.each(KEEPERS)('B-6: a notification of a $how is processed before the next poll', async ({ start }) => {
  const { url, state } = await start({ pollMs: 600_000 });
  const hub = await hubFor(url);
  const promoted = await hub.call('execute_tool', { server: 'one', tool: 'hold', timeout_ms: 300 });
  state.release();
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('released');
  expect(polls(state).length).toBeLessThan(5);
});

test.each(KEEPERS)('B-6: a question and the steps after its answer need no poll ($how)', async ({ start }) => {
  const { url, state } = await start({ pollMs: 600_000 });
  const hub = await hubFor(url);
  const asked = await hub.call('execute_tool', { server: 'one', tool: 'ask', timeout_ms: 600_000 });
  const given = { request_id: asked.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  await hub.call('respond_to_elicitation', given);
  expect((await hub.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');
  expect(polls(state).length).toBeLessThan(8);
});

test.each(KEEPERS)('E-1, E-3, B-6: notifications of a $how cause no events for the client', async ({ start }) => {
  const { url, state } = await start();
  const hub = await hubFor(url);
  const calls = Array.from({ length: 10 }, async (_, index) => {
    const args = { ms: 5 * index, text: `${index}`, steps: 3 };
    return hub.call('execute_tool', { server: 'one', tool: 'slow', args });
  });
  for (const { events } of await Promise.all(calls)) expect(events).toEqual([]);
  expect((await hub.call('execute_tool', { server: 'one', tool: 'rich' })).events).toEqual([]);
  // What was said last arrives before the answer to a later request.
  await settle(hub);
  const { body, events } = await hub.call('get_notifications', { include_delivered: true });
  expect(events).toEqual([]);
  expect(body).toEqual({ notifications: [] });
  expect(requestsOf(state, 'tools/call')).toHaveLength(13);
});

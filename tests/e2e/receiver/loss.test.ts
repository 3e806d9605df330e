import { expect, test } from 'vitest';
import { eventsUntil, has, soon } from '../flows/watch.ts';
import { accept, create, elicitation, elicitations, nextClient, overHttp, scene, stage, WAYS } from './driver.ts';

const SETTINGS = { servers: { pingMs: 200, reconnect: { firstMs: 20, maxMs: 100, attempts: 1000 } } };

test('R-6, R-9: broken streams lose neither the question nor the answer', async () => {
  const { hub, driven, driver } = await stage(await overHttp(), SETTINGS);
  const { taskId } = await create(driven);
  const { requestId } = await elicitation(hub);
  driver.breakStreams();
  await driven.reached();
  expect(await elicitations(hub)).toMatchObject([{ requestId }]);
  await accept(hub, { requestId }, 'Kai');
  expect(await driven.request('tasks/result', { taskId })).toMatchObject({ content: { name: 'Kai' } });
});

test('R-6, R-9: a server that is unreachable for a while loses neither the question nor the answer', async () => {
  const { hub, driven, driver } = await stage(await overHttp(), SETTINGS);
  const early = await create(driven);
  await accept(hub, await elicitation(hub), 'Kim');
  const { taskId } = await create(driven);
  const { requestId } = await elicitation(hub);
  const mend = await driver.outOfReach();
  await eventsUntil(hub, has('server_disconnected'));
  expect(await elicitations(hub)).toMatchObject([{ requestId }]);
  // The answer comes while nobody is there to take it.
  await accept(hub, { requestId }, 'Kai');
  await mend();
  await eventsUntil(hub, has('server_reconnected'));
  await driven.reached();
  expect(await driven.request('tasks/result', { taskId })).toMatchObject({ content: { name: 'Kai' } });
  expect(await driven.request('tasks/result', { taskId: early.taskId })).toMatchObject({ content: { name: 'Kim' } });
  expect(driver.clients).toHaveLength(1);
});

test('B-3, R-6: an open tasks/result request is answered after the server was unreachable', async () => {
  const { hub, driven, driver } = await stage(await overHttp(), SETTINGS);
  const { taskId } = await create(driven);
  const { requestId } = await elicitation(hub);
  const result = driven.request('tasks/result', { taskId });
  await driven.request('tasks/get', { taskId });
  const mend = await driver.outOfReach();
  await eventsUntil(hub, has('server_disconnected'));
  await mend();
  await eventsUntil(hub, has('server_reconnected'));
  await accept(hub, { requestId }, 'Kai');
  expect(await result).toMatchObject({ content: { name: 'Kai' } });
});

test('R-17, B-2: when a server is given up, its questions end, and answering them is an error', async () => {
  const settings = { servers: { pingMs: 200, reconnect: { firstMs: 20, maxMs: 50, attempts: 2 } } };
  const { hub, driven, driver } = await stage(await overHttp(), settings);
  const { taskId } = await create(driven);
  const { requestId } = await elicitation(hub);
  const mend = await driver.outOfReach();
  const state = async (): Promise<unknown> => (await hub.call('get_server_status', { server: 'one' })).body['status'];
  await soon(state).toBe('error');
  expect(await elicitations(hub)).toEqual([]);
  const late = await hub.call('respond_to_elicitation', {
    request_id: requestId,
    action: 'accept',
    content: { name: 'Kai' },
  });
  expect(late).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND' });
  // The next use finds the server again, which learns that its task is over.
  await mend();
  await hub.call('list_tools', { server: 'one' });
  await driven.reached();
  await expect(driven.request('tasks/get', { taskId })).rejects.toMatchObject({ code: -32602 });
});

test('R-17, S-3: when a server is removed, its questions end, and answering them is an error', async () => {
  const { hub, driven } = await stage(await overHttp(), SETTINGS);
  await create(driven);
  const { requestId } = await elicitation(hub);
  await hub.call('remove_server', { name: 'one' });
  expect(await elicitations(hub)).toEqual([]);
  const late = await hub.call('respond_to_elicitation', { request_id: requestId, action: 'decline' });
  expect(late).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND' });
});

test.each(WAYS)('R-17, R-18: when a server restarts, its tasks and questions end (%s)', async (way) => {
  const { hub, driven, driver } = await scene(way, SETTINGS);
  const { taskId } = await create(driven);
  const { requestId } = await elicitation(hub);
  await driver.restart();
  const events = await eventsUntil(hub, has('server_reconnected'));
  expect(events.find(({ type }) => type === 'elicitation_expired')).toMatchObject({ data: { requestId } });
  expect(await elicitations(hub)).toEqual([]);
  const again = await nextClient(driver.clients, 1);
  await expect(again.request('tasks/get', { taskId })).rejects.toMatchObject({ code: -32602 });
  expect(await again.request('tasks/list')).toEqual({ tasks: [] });
  const fresh = await create(again);
  await accept(hub, await elicitation(hub), 'Lea');
  expect(await again.request('tasks/result', { taskId: fresh.taskId })).toMatchObject({ content: { name: 'Lea' } });
});

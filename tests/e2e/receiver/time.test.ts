import { expect, test } from 'vitest';
import { nameForm } from '../../servers/shared/forms.ts';
import { awaitActivity, soon } from '../flows/watch.ts';
import { accept, create, elicitation, elicitations, scene, status, WAYS } from './driver.ts';

test.each(WAYS)('R-14, R-18: when its ttl is over, a task and its question are removed (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  const { taskId } = await create(driven, { ...nameForm(), task: { ttl: 2000 } });
  const waiting = expect(driven.request('tasks/result', { taskId })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('ttl of 2000 ms') as unknown,
  });
  const { requestId } = await elicitation(hub);
  await waiting;
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    await expect(driven.request(method, { taskId })).rejects.toMatchObject({ code: -32602 });
  }
  expect(await driven.request('tasks/list')).toEqual({ tasks: [] });
  expect(await elicitations(hub)).toEqual([]);
  expect((await awaitActivity(hub, { timeout_ms: 0 })).pending_client.elicitations).toEqual([]);
  const late = await hub.call('respond_to_elicitation', { request_id: requestId, action: 'decline' });
  expect(late).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND' });
});

test.each(WAYS)('R-14: an answer can be fetched until the ttl is over (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  const task = await create(driven, { ...nameForm(), task: { ttl: 3000 } });
  await accept(hub, await elicitation(hub), 'Gus');
  const { taskId } = task;
  const fetch = () => driven.request('tasks/result', { taskId });
  expect(await fetch()).toMatchObject({ content: { name: 'Gus' } });
  expect(await fetch()).toMatchObject({ content: { name: 'Gus' } });
  await soon(() =>
    fetch().then(
      () => 'there',
      (error: { code: number }) => error.code,
    ),
  ).toBe(-32602);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(task.createdAt) + 3000);
});

test('R-14: a task-augmented question does not expire with questions.timeoutMs', async () => {
  const { hub, driven } = await scene('http', { questions: { timeoutMs: 300 } });
  const plain = driven.request('elicitation/create', { ...nameForm('plain') });
  const { taskId } = await create(driven);
  await expect(plain).rejects.toMatchObject({ code: -1 });
  expect(await status(driven, taskId)).toBe('input_required');
  await accept(hub, await elicitation(hub), 'Hal');
  expect(await driven.request('tasks/result', { taskId })).toMatchObject({ content: { name: 'Hal' } });
});

test('R-14: the default ttl is ten minutes, and the maximum is one day', async () => {
  const { driven } = await scene('http');
  expect(await create(driven, { ...nameForm(), task: {} })).toMatchObject({ ttl: 600_000 });
  expect(await create(driven, { ...nameForm(), task: { ttl: 1e12 } })).toMatchObject({ ttl: 86_400_000 });
});

test.each(WAYS)('R-14: an invalid ttl is refused, and no question is asked (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  for (const task of [{ ttl: -1 }, { ttl: 0.5 }, { ttl: 'long' }, { ttl: null }, null, 'yes', []]) {
    await expect(driven.request('elicitation/create', { ...nameForm(), task })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(/task(\.ttl)? must be/) as unknown,
    });
  }
  expect(await driven.request('tasks/list')).toEqual({ tasks: [] });
  expect(await elicitations(hub)).toEqual([]);
});

import { ListTasksResultV1Schema } from '@modelcontextprotocol/ext-tasks/core/v1';
import { expect, test } from 'vitest';
import { accept, create, elicitation, elicitations, join, scene, status, WAYS } from './driver.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test.each(WAYS)('R-4, R-10, R-16: sixty tasks have unique ids and are listed in pages (%s)', async (way) => {
  const { driven } = await scene(way);
  const made: string[] = [];
  for (let n = 0; n < 60; n += 1) made.push((await create(driven)).taskId);
  expect(new Set(made).size).toBe(60);
  expect(made.every((taskId) => UUID.test(taskId))).toBe(true);

  const first = await driven.request('tasks/list');
  const { tasks, nextCursor } = ListTasksResultV1Schema.parse(first);
  expect(first).toEqual({ tasks, nextCursor });
  expect(tasks.map(({ taskId }) => taskId)).toEqual(made.slice(0, 50));
  const second = ListTasksResultV1Schema.parse(await driven.request('tasks/list', { cursor: nextCursor }));
  expect(second.tasks.map(({ taskId }) => taskId)).toEqual(made.slice(50));
  expect(second).not.toHaveProperty('nextCursor');
  for (const cursor of ['', 'zzz', `${nextCursor}AAAA`, 5]) {
    await expect(driven.request('tasks/list', { cursor })).rejects.toMatchObject({ code: -32602 });
  }
});

test('R-18: a hundred tasks are the limit, and ended tasks make room', async () => {
  const { hub, driven } = await scene('http');
  const first = await create(driven);
  const question = await elicitation(hub);
  for (let n = 1; n < 100; n += 1) await create(driven);
  await expect(create(driven)).rejects.toMatchObject({
    code: -1,
    message: expect.stringContaining('100') as unknown,
  });
  await accept(hub, question, 'Ina');
  await expect.poll(() => status(driven, first.taskId)).toBe('completed');
  const next = await create(driven);
  await expect(driven.request('tasks/get', { taskId: first.taskId })).rejects.toMatchObject({ code: -32602 });
  expect(['working', 'input_required']).toContain(await status(driven, next.taskId));
});

test.each(WAYS)('R-17: a server cannot see the tasks of one connection on another (%s)', async (way) => {
  const { hub, driven, driver, url } = await scene(way);
  const other = await join(url, driver);
  const { taskId } = await create(driven);
  const question = await elicitation(hub);

  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    await expect(other.driven.request(method, { taskId })).rejects.toMatchObject({ code: -32602 });
  }
  expect(await other.driven.request('tasks/list')).toEqual({ tasks: [] });
  expect(await other.driven.heard()).toEqual([]);
  expect(await elicitations(other.hub)).toEqual([]);
  const stolen = { request_id: question.requestId, action: 'accept', content: { name: 'Mallory' } };
  expect((await other.hub.call('respond_to_elicitation', stolen)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');

  await accept(hub, question, 'Jan');
  expect(await driven.request('tasks/result', { taskId })).toMatchObject({ content: { name: 'Jan' } });
  await expect(other.driven.request('tasks/result', { taskId })).rejects.toMatchObject({ code: -32602 });
});

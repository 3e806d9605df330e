import { CancelTaskResultV1Schema } from '@modelcontextprotocol/ext-tasks/core/v1';
import { expect, test } from 'vitest';
import { awaitActivity, eventsUntil, has } from '../flows/watch.ts';
import { accept, create, elicitation, elicitations, scene, status, statuses, WAYS } from './driver.ts';

test.each(WAYS)('R-11, R-12: tasks/cancel of a server withdraws its question from the client (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  const { taskId } = await create(driven);
  const { requestId } = await elicitation(hub);
  const before = await awaitActivity(hub, { timeout_ms: 0 });
  expect(before.pending_client.elicitations).toMatchObject([{ requestId }]);
  const waiting = expect(driven.request('tasks/result', { taskId })).rejects.toMatchObject({
    code: -1,
    message: expect.stringContaining('cancelled') as unknown,
  });

  const cancelled = await driven.request('tasks/cancel', { taskId });
  expect(CancelTaskResultV1Schema.parse(cancelled)).toEqual(cancelled);
  expect(cancelled).toMatchObject({ taskId, status: 'cancelled' });
  await waiting;

  expect(await elicitations(hub)).toEqual([]);
  const late = await hub.call('respond_to_elicitation', {
    request_id: requestId,
    action: 'accept',
    content: { name: 'Eve' },
  });
  expect(late).toMatchObject({ isError: true, code: 'TOOL_ERR_REQUEST_NOT_FOUND', elicitations: [] });
  expect((await awaitActivity(hub, { timeout_ms: 0 })).pending_client.elicitations).toEqual([]);
  expect(await status(driven, taskId)).toBe('cancelled');
  await expect.poll(() => statuses(driven, taskId)).toEqual(['input_required', 'cancelled']);
});

test.each(WAYS)('R-11: await_activity reports that a question was withdrawn (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  const { taskId } = await create(driven);
  const { requestId } = await elicitation(hub);
  const gone = eventsUntil(hub, has('elicitation_expired'));
  await driven.request('tasks/cancel', { taskId });
  const expired = (await gone).find(({ type }) => type === 'elicitation_expired');
  expect(expired).toMatchObject({ server: 'one', data: { requestId } });
});

test.each(WAYS)('R-15: a task that has ended cannot be cancelled (%s)', async (way) => {
  const { hub, driven } = await scene(way, { questions: { perSession: 1 } });
  const refused = (ended: string) => ({ code: -32602, message: expect.stringContaining(ended) as unknown });
  const completed = await create(driven);
  const question = await elicitation(hub);
  const failed = await create(driven);
  await expect.poll(() => status(driven, failed.taskId)).toBe('failed');
  await accept(hub, question, 'Flo');
  await expect.poll(() => status(driven, completed.taskId)).toBe('completed');
  const cancelled = await create(driven);
  await driven.request('tasks/cancel', { taskId: cancelled.taskId });
  for (const [{ taskId }, ended] of [
    [completed, 'completed'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
  ] as const) {
    await expect(driven.request('tasks/cancel', { taskId })).rejects.toMatchObject(refused(ended));
    expect(await status(driven, taskId)).toBe(ended);
  }
  expect(await driven.request('tasks/result', { taskId: completed.taskId })).toMatchObject({
    content: { name: 'Flo' },
  });
});

test.each(WAYS)('R-8, R-9, R-11: an unknown task id is an invalid parameter (%s)', async (way) => {
  const { driven } = await scene(way);
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
    for (const params of [{ taskId: 'nope' }, { taskId: 7 }, {}]) {
      await expect(driven.request(method, params)).rejects.toMatchObject({ code: -32602 });
    }
  }
});

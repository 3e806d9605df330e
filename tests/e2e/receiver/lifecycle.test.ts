import {
  CreateTaskResultV1Schema,
  GetTaskResultV1Schema,
  TaskStatusNotificationV1Schema,
} from '@modelcontextprotocol/ext-tasks/core/v1';
import { expect, test } from 'vitest';
import { RECEIVER_CAPABILITY } from '../../../src/south/task-receiver.ts';
import { nameForm } from '../../servers/shared/forms.ts';
import { taskIdOf } from '../../support/hub.ts';
import {
  accept,
  create,
  elicitation,
  elicitations,
  RELATED,
  sampling,
  scene,
  status,
  statuses,
  WAYS,
} from './driver.ts';

const PROMPT = { messages: [{ role: 'user', content: { type: 'text', text: 'Say hi' } }], maxTokens: 64 };

test.each(WAYS)('R-1, R-2: the gateway declares the task capability for requests of servers (%s)', async (way) => {
  const { driven } = await scene(way);
  expect((await driven.capabilities())['tasks']).toEqual(RECEIVER_CAPABILITY);
});

test.each(WAYS)('R-3: a question without a task waits for its answer and leaves no task (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  const answered = driven.request('elicitation/create', { ...nameForm() });
  await accept(hub, await elicitation(hub), 'Ada');
  expect(await answered).toEqual({ action: 'accept', content: { name: 'Ada' } });
  expect(await driven.request('tasks/list')).toEqual({ tasks: [] });
  expect(await driven.heard()).toEqual([]);
});

test.each(WAYS)(
  'R-3, R-5, R-6, R-7, R-8, R-9, R-12, R-13: a task-augmented elicitation runs from its creation to its result (%s)',
  async (way) => {
    const { hub, driven } = await scene(way);
    const made = await driven.request('elicitation/create', { ...nameForm(), task: { ttl: 60_000 } });
    const { task } = CreateTaskResultV1Schema.parse(made);
    expect(made).toEqual({ task });
    expect(task).toMatchObject({ status: 'working', ttl: 60_000 });
    const { taskId } = task;

    const question = await elicitation(hub);
    expect(question).toMatchObject({ server: 'one', message: 'What is your name?' });
    const open = await driven.request('tasks/get', { taskId });
    expect(GetTaskResultV1Schema.parse(open)).toEqual(open);
    expect(open).toMatchObject({ taskId, status: 'input_required', ttl: 60_000, createdAt: task.createdAt });

    const result = driven.request('tasks/result', { taskId });
    await accept(hub, question, 'Ada');
    expect(await result).toEqual({ action: 'accept', content: { name: 'Ada' }, _meta: { [RELATED]: { taskId } } });
    expect(await driven.request('tasks/get', { taskId })).toMatchObject({ status: 'completed' });
    await expect.poll(() => statuses(driven, taskId)).toEqual(['input_required', 'completed']);
    for (const note of await driven.heard()) {
      expect(TaskStatusNotificationV1Schema.parse({ jsonrpc: '2.0', ...note })).toEqual({ jsonrpc: '2.0', ...note });
    }
    expect(await elicitations(hub)).toEqual([]);
  },
);

test.each(WAYS)(
  'R-3, R-5, R-6, R-7, R-8, R-9, R-12, R-13: a task-augmented sampling request runs from its creation to its result (%s)',
  async (way) => {
    const { hub, driven } = await scene(way);
    const task = await create(driven, { ...PROMPT, task: { ttl: 60_000 } }, 'sampling/createMessage');
    expect(task).toMatchObject({ status: 'working', ttl: 60_000 });
    const { taskId } = task;
    const { requestId, params } = await sampling(hub);
    expect(params).toEqual(PROMPT);
    expect(await status(driven, taskId)).toBe('input_required');
    const result = driven.request('tasks/result', { taskId });
    await hub.call('respond_to_sampling', { request_id: requestId, content: 'hi', model: 'tiny' });
    expect(await result).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'hi' },
      model: 'tiny',
      stopReason: 'endTurn',
      _meta: { [RELATED]: { taskId } },
    });
    expect(await status(driven, taskId)).toBe('completed');
    await expect.poll(() => statuses(driven, taskId)).toEqual(['input_required', 'completed']);
  },
);

test.each(['decline', 'cancel'])('R-7, R-9: the answer %s completes the task', async (action) => {
  const { hub, driven } = await scene('http');
  const { taskId } = await create(driven);
  await hub.call('respond_to_elicitation', { request_id: (await elicitation(hub)).requestId, action });
  expect(await driven.request('tasks/result', { taskId })).toEqual({ action, _meta: { [RELATED]: { taskId } } });
  expect(await status(driven, taskId)).toBe('completed');
});

test.each(WAYS)('R-7, R-9: a question above the limit fails its task with the reason (%s)', async (way) => {
  const { hub, driven } = await scene(way, { questions: { perSession: 1 } });
  await create(driven);
  await elicitation(hub);
  const { taskId } = await create(driven);
  const asIfAskedPlainly = await driven
    .request('elicitation/create', { ...nameForm() })
    .catch((error: unknown) => error as { code: number; message: string });
  expect(asIfAskedPlainly).toMatchObject({
    code: -1,
    message: expect.stringContaining('questions.perSession = 1') as unknown,
  });
  const { code, message } = asIfAskedPlainly as { code: number; message: string };
  for (const _again of [1, 2]) {
    await expect(driven.request('tasks/result', { taskId })).rejects.toMatchObject({ code, message });
  }
  const failed = await driven.request('tasks/get', { taskId });
  expect(failed).toMatchObject({ status: 'failed' });
  expect(message).toContain(failed['statusMessage']);
  // It never was before anybody.
  await expect.poll(() => statuses(driven, taskId)).toEqual(['failed']);
});

test.each(WAYS)('R-9: a server that cancels tasks/result can request it again (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  const { taskId } = await create(driven);
  const question = await elicitation(hub);
  await driven.takeBack('tasks/result', { taskId }, 50);
  expect(await status(driven, taskId)).toBe('input_required');
  expect(await elicitations(hub)).toMatchObject([{ requestId: question.requestId }]);
  await accept(hub, question, 'Bo');
  expect(await driven.request('tasks/result', { taskId })).toMatchObject({ content: { name: 'Bo' } });
});

test.each(WAYS)('R-5, R-8, R-9: the task functions of the SDK work with the gateway (%s)', async (way) => {
  const { hub, driven } = await scene(way);
  const elicited = driven.elicit('And you are?', 60_000);
  await accept(hub, await elicitation(hub), 'Cleo');
  const answers = await elicited;
  expect(answers[0]).toMatchObject({ type: 'taskCreated', task: { status: 'working', ttl: 60_000 } });
  expect(answers.slice(1, -1).every(({ type }) => type === 'taskStatus')).toBe(true);
  expect(answers.at(-1)).toMatchObject({ type: 'result', result: { action: 'accept', content: { name: 'Cleo' } } });

  const sampled = driven.sample('Say hi', 60_000);
  await hub.call('respond_to_sampling', { request_id: (await sampling(hub)).requestId, content: 'hi' });
  expect((await sampled).at(-1)).toMatchObject({ type: 'result', result: { content: { type: 'text', text: 'hi' } } });
});

test.each(WAYS)('R-3, R-6: a tool sends a task-augmented question during its call (%s)', async (way) => {
  const { hub } = await scene(way);
  const asking = await hub.call('execute_tool', { server: 'one', tool: 'ask_with_task' });
  const task_id = taskIdOf(asking);
  expect(asking.elicitations).toMatchObject([{ taskId: task_id, message: 'What is your name?' }]);
  await accept(hub, await elicitation(hub), 'Dora');
  const asked = await hub.call('get_task_result', { task_id });
  expect(JSON.parse(asked.text)).toMatchObject({ type: 'result', result: { content: { name: 'Dora' } } });

  const samplingTool = await hub.call('execute_tool', { server: 'one', tool: 'sample_with_task' });
  expect(samplingTool.samplings).toMatchObject([{ taskId: taskIdOf(samplingTool) }]);
  await hub.call('respond_to_sampling', { request_id: samplingTool.samplings[0]?.requestId, content: 'hi' });
  const sampled = await hub.call('get_task_result', { task_id: taskIdOf(samplingTool) });
  expect(JSON.parse(sampled.text)).toMatchObject({ type: 'result', result: { content: { text: 'hi' } } });
});

import { expect, test } from 'vitest';
import { richResult } from '../../servers/shared/rich.ts';
import { hubOverHttp, taskIdOf, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { settle, soon, taskOf, tasksOf } from '../flows/watch.ts';
import { behind, WAYS, type Behind } from './ways.ts';

/** Longer than any test may take: a call that is answered sooner was not answered by its timeout. */
const NEVER = 600_000;

const execute = (hub: HubClient, tool: string, args: Json = {}, timeout_ms = NEVER): Promise<Reply> =>
  hub.call('execute_tool', { server: 'one', tool, args, timeout_ms });

async function promote(hub: HubClient, tool: string, args: Json = {}): Promise<string> {
  return taskIdOf(await execute(hub, tool, args, 0));
}

/** A call becomes a task before its server is connected, so even the fastest one does. */
async function promoteAtOnce({ running }: Behind, tool: string): Promise<{ hub: HubClient; task_id: string }> {
  for (;;) {
    const hub = await hubOverHttp(running.url);
    const reply = await execute(hub, tool, {}, 0);
    if ('proxy_task' in reply.body) return { hub, task_id: taskIdOf(reply) };
  }
}

async function answer(hub: HubClient, requestId: string | undefined, name: string): Promise<void> {
  const given = { request_id: requestId, action: 'accept', content: { name } };
  expect((await hub.call('respond_to_elicitation', given)).body).toMatchObject({ success: true });
}

test.each(WAYS)('H-3, H-4, B-6: a result is the same as the server sent it ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const { raw } = await execute(hub, 'rich');
  const { content, ...rest } = richResult();
  expect(raw).toMatchObject(rest);
  expect(Object.keys(raw).toSorted()).toEqual(['_meta', 'content', 'structuredContent']);
  if (way.how !== 'rounds') expect(raw['_meta']).toEqual(rest._meta);
  // The v2 SDK drops what its schemas do not know, and adds the name of the server to `_meta`.
  const { vendorKey: _vendorKey, ...known } = { vendorKey: '', ...content[0] };
  expect(raw.content).toEqual(way.how === 'rounds' ? [known, ...content.slice(1)] : content);
  expect(await tasksOf(hub)).toEqual([]);
});

test.each(WAYS)(
  'H-3, B-6: a slow call is promoted by its timeout, and its task completes ($how, $door)',
  async (way) => {
    const { hub } = await behind(way);
    const promoted = await execute(hub, 'slow', { ms: 600, text: 'there' }, 100);
    expect(promoted.text).toContain('exceeded timeout (100ms)');
    const task_id = taskIdOf(promoted);
    expect(await taskOf(hub, task_id)).toMatchObject({ status: 'working', server: 'one', tool: 'slow' });
    const result = await hub.call('get_task_result', { task_id });
    expect(result.raw.content[0]).toEqual({ type: 'text', text: 'there' });
    expect(await taskOf(hub, task_id)).toMatchObject({ status: 'completed' });
    expect(result.events.map(({ type }) => type)).toEqual(['task_completed']);
  },
);

test.each(WAYS)(
  'H-3, H-5, B-6: a question promotes its call, and its answer reaches the server ($how, $door)',
  async (way) => {
    const { hub } = await behind(way);
    const promoted = await execute(hub, 'ask', { message: 'Who is there?' });
    const task_id = taskIdOf(promoted);
    expect(promoted.elicitations).toMatchObject([
      { server: 'one', message: 'Who is there?', requestedSchema: { required: ['name'] }, taskId: task_id },
    ]);
    expect(await taskOf(hub, task_id)).toMatchObject({ status: 'working' });
    const wrong = { request_id: promoted.elicitations[0]?.requestId, action: 'accept', content: { nam: 'Ada' } };
    expect((await hub.call('respond_to_elicitation', wrong)).code).toBe('TOOL_ERR_INVALID_ANSWER');
    await answer(hub, promoted.elicitations[0]?.requestId, 'Ada');
    const result = await hub.call('get_task_result', { task_id });
    expect(result.text).toBe('Hello Ada');
    expect(result.elicitations).toEqual([]);
  },
);

test.each(WAYS)('H-3, B-6: a question can be declined ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const promoted = await execute(hub, 'ask');
  await hub.call('respond_to_elicitation', { request_id: promoted.elicitations[0]?.requestId, action: 'decline' });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('declined');
});

test.each(WAYS)('H-3, B-6: two questions of one call are asked one after the other ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const promoted = await execute(hub, 'ask_twice');
  const task_id = taskIdOf(promoted);
  await answer(hub, promoted.elicitations[0]?.requestId, 'Ada');
  await soon(async () => (await hub.call('get_elicitations')).elicitations).toMatchObject([
    { message: 'How old are you?', taskId: task_id },
  ]);
  const [age] = (await hub.call('get_elicitations')).elicitations;
  await hub.call('respond_to_elicitation', { request_id: age?.requestId, action: 'accept', content: { age: 36 } });
  expect((await hub.call('get_task_result', { task_id })).text).toBe('Hello Ada, 36');
});

test.each(WAYS)('H-3, H-9, B-6: a sampling request is answered ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const promoted = await execute(hub, 'sample', { prompt: 'Say something' });
  const task_id = taskIdOf(promoted);
  const [request] = promoted.samplings;
  expect(request).toMatchObject({ server: 'one', taskId: task_id });
  expect(JSON.stringify(request?.params)).toContain('Say something');
  const sampled = { model: 'some-model', role: 'assistant', content: { type: 'text', text: 'something' } };
  await hub.call('respond_to_sampling', { request_id: request?.requestId, ...sampled });
  expect(JSON.parse((await hub.call('get_task_result', { task_id })).text)).toMatchObject(sampled);
});

test.each(WAYS)('H-6, B-6: cancel_task cancels the call on the server ($how, $door)', async (way) => {
  const { hub, cancelled } = await behind(way);
  const task_id = await promote(hub, 'slow', { ms: NEVER, text: 'stop me' });
  const other = await promote(hub, 'slow', { ms: NEVER, text: 'not me' });
  // The server has both calls when it has answered a later one.
  await settle(hub);
  expect((await hub.call('cancel_task', { task_id })).body).toMatchObject({ success: true });
  await soon(cancelled).toEqual(['slow:stop me']);
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'cancelled' });
  expect(await taskOf(hub, other)).toMatchObject({ status: 'working' });
});

test.each(WAYS)('H-6, B-6: a call that waits for an answer can be cancelled ($how, $door)', async (way) => {
  const { hub, cancelled } = await behind(way);
  const promoted = await execute(hub, 'ask');
  const task_id = taskIdOf(promoted);
  expect((await hub.call('cancel_task', { task_id })).body).toMatchObject({ success: true });
  const late = { request_id: promoted.elicitations[0]?.requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await hub.call('respond_to_elicitation', late)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  // Between two rounds a server knows nothing of the call.
  if (way.how !== 'rounds') await soon(cancelled).toEqual(['ask']);
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'cancelled' });
});

test.each(WAYS)('T-5, B-6: a tool result with isError makes the task completed ($how, $door)', async (way) => {
  const ready = await behind(way);
  const open = await execute(ready.hub, 'fail');
  const { hub, task_id } = await promoteAtOnce(ready, 'fail');
  const result = await hub.call('get_task_result', { task_id });
  for (const { raw } of [open, result]) {
    expect(raw['isError']).toBe(true);
    expect(raw.content[0]).toEqual({ type: 'text', text: 'disk on fire' });
  }
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'completed' });
});

test.each(WAYS)('T-5, H-12, B-6: a failed task has the error of the server ($how, $door)', async (way) => {
  const ready = await behind(way);
  const error = {
    code: -32_011,
    message: expect.stringContaining('quota used up') as unknown,
    data: { retryAfter: 7 },
  };
  const open = await execute(ready.hub, 'rpc_error');
  expect(open).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(open.body['error']).toMatchObject({ details: { error } });
  const { hub, task_id } = await promoteAtOnce(ready, 'rpc_error');
  expect(await hub.call('get_task_result', { task_id })).toMatchObject({ isError: true });
  expect(await taskOf(hub, task_id)).toMatchObject({ status: 'failed', error });
});

test.each(WAYS)('T-7, B-6: a waiting client gets progress or status messages ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const heard: { progress: number; message?: string | undefined }[] = [];
  const call = { server: 'one', tool: 'slow', args: { ms: 900, steps: 3, text: 'there' } };
  const reply = await hub.call('execute_tool', call, { onprogress: (step) => heard.push(step) });
  expect(reply.text).toBe('there');
  const steps = ['step 1', 'step 2', 'step 3'];
  const messages = heard.map(({ message }) => message);
  // The gateway polls such a task, and a busy machine may miss a step.
  if (way.how === 'extension task') expect(steps.filter((step) => messages.includes(step))).toEqual(messages);
  else expect(messages).toEqual(steps);
  expect(messages).not.toEqual([]);
  // The protocol wants it to increase.
  const numbers = heard.map(({ progress }) => progress);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
});

const CORE = WAYS.filter(({ how }) => how === 'core task');

test.each(CORE)('T-7, B-6: progress of a $how reaches a waiting client ($door)', async (way) => {
  const { hub } = await behind(way);
  const heard: unknown[] = [];
  const call = { server: 'one', tool: 'slow', args: { ms: 900, steps: 3, text: 'there', by: 'progress' } };
  const reply = await hub.call('execute_tool', call, { onprogress: (step) => heard.push(step) });
  expect(reply.text).toBe('there');
  expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  const task_id = await promote(hub, 'slow', { ms: 60_000, steps: 300, by: 'progress' });
  await soon(async () => (await taskOf(hub, task_id))['status_message']).toMatch(/^step \d+$/);
});

test.each(WAYS)('T-7, B-6: the status message of a task is that of the server ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const task_id = await promote(hub, 'slow', { ms: 60_000, steps: 300 });
  await soon(async () => (await taskOf(hub, task_id))['status_message']).toMatch(/^step \d+$/);
  const before = await taskOf(hub, task_id);
  await soon(async () => (await taskOf(hub, task_id))['status_message']).not.toBe(before['status_message']);
  const after = await taskOf(hub, task_id);
  expect(after['status_message']).toMatch(/^step \d+$/);
  expect(Date.parse(String(after['last_updated_at']))).toBeGreaterThan(Date.parse(String(before['last_updated_at'])));
});

const NAMES = ['Eve', 'Flo', 'Gus'];

/** Answers each question with the name in it, in another order than asked. */
async function answerAll(hub: HubClient): Promise<void> {
  const { elicitations } = await hub.call('get_elicitations');
  for (const { requestId, message } of elicitations.toReversed()) {
    await answer(hub, requestId, message.replace(/Are you (.*)\?/, '$1'));
  }
}

const TIED = WAYS.filter(({ how, door }) => how !== 'push' || door === 'http');

test.each(TIED)('H-3, B-6: each of three parallel questions is attributed to its call ($how, $door)', async (way) => {
  const { hub } = await behind(way);
  const promoted = await Promise.all(NAMES.map((name) => execute(hub, 'ask', { message: `Are you ${name}?` })));
  const { elicitations } = await hub.call('get_elicitations');
  for (const [index, reply] of promoted.entries()) {
    const mine = elicitations.filter(({ taskId }) => taskId === taskIdOf(reply));
    expect(mine.map(({ message }) => message)).toEqual([`Are you ${NAMES[index]}?`]);
  }
  await answerAll(hub);
  const results = await Promise.all(promoted.map((reply) => hub.call('get_task_result', { task_id: taskIdOf(reply) })));
  expect(results.map(({ text }) => text)).toEqual(NAMES.map((name) => `Hello ${name}`));
});

const UNTIED = WAYS.find((way) => !TIED.includes(way));

test('H-3, B-6: three questions over stdio that name no call are answered', async () => {
  if (UNTIED === undefined) throw new Error('no such way');
  const { hub, running } = await behind(UNTIED);
  // A call that asks nothing, so that even the first question may belong to two calls.
  const busy = execute(hub, 'slow', { ms: 3000 });
  await soon(() => running.gateway.sessions[0]?.calls.size).toBe(1);
  const asking = NAMES.map((name) => execute(hub, 'ask', { message: `Are you ${name}?` }));
  const promoted = await Promise.all([busy, ...asking]);
  await soon(async () => (await hub.call('get_elicitations')).elicitations).toHaveLength(3);
  await answerAll(hub);
  const results = await Promise.all(promoted.map((reply) => hub.call('get_task_result', { task_id: taskIdOf(reply) })));
  expect(results.map(({ text }) => text)).toEqual(['done', ...NAMES.map((name) => `Hello ${name}`)]);
});

import { TaskStatusNotificationV1Schema } from '@modelcontextprotocol/ext-tasks/core/v1';
import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { startV2Http } from '../../../servers/v2-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire, type LegacyStream } from '../legacy-wire.ts';
import { accept, ModernWire } from '../modern-wire.ts';

const SERVERS = {
  pushes: startV1Http,
  core: startTasksV1Http,
  rounds: () => startV2Http({ era: 'modern' }),
  ext: startTasksV2Http,
};

async function behind(start: () => Promise<{ url: string; close(): Promise<void> }>) {
  const server = owned(await start());
  const { url } = await httpGateway({ one: { url: server.url } });
  const wire = await LegacyWire.open(`${url}/one`);
  return { wire, standing: await wire.listen() };
}

const RELATED = 'io.modelcontextprotocol/related-task';

function changes(stream: LegacyStream, taskId: string): Json[] {
  return stream.told('notifications/tasks/status').filter((task) => task['taskId'] === taskId);
}

/** In order, each state once however often it was told. */
function passed(tasks: Json[]): unknown[] {
  const states = tasks.map(({ status }) => status);
  return states.filter((state, index) => state !== states[index - 1]);
}

test.each(Object.entries(SERVERS))(
  'D-3: status notifications of a task come in order: a server that %s',
  async (_how, start) => {
    const { wire, standing } = await behind(start);
    const { taskId, status } = await wire.begin('ask', { message: 'Who?' });
    expect(status).toBe('working');
    const result = await wire.stream('tasks/result', { taskId });
    const asked = await result.heard('elicitation/create');
    expect(asked['params']).toMatchObject({ message: 'Who?', _meta: { [RELATED]: { taskId } } });
    await soon(() => changes(standing, taskId).at(-1)?.['status']).toBe('input_required');
    expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'input_required' });
    await result.answer(asked, accept({ name: 'Ada' }));
    const ended = await result.result();
    expect(textOf(ended)).toBe('Hello Ada');
    expect(ended['_meta']).toMatchObject({ [RELATED]: { taskId } });
    await soon(() => changes(standing, taskId).at(-1)?.['status']).toBe('completed');
    const told = changes(standing, taskId);
    const states = passed(told);
    expect(states.filter((state) => state !== 'working')).toEqual(['input_required', 'completed']);
    for (const params of told) {
      TaskStatusNotificationV1Schema.parse({ jsonrpc: '2.0', method: 'notifications/tasks/status', params });
    }
    const moments = told.map(({ lastUpdatedAt }) => Date.parse(String(lastUpdatedAt)));
    expect(moments).toEqual(moments.toSorted((a, b) => a - b));
  },
);

test('D-3, T-5: a failed task reports status failed, and tasks/result is the error of the server', async () => {
  const { wire, standing } = await behind(startTasksV2Http);
  const { taskId } = await wire.begin('rpc_error');
  const error = await wire.error('tasks/result', { taskId });
  expect(error).toMatchObject({ code: -32011, message: 'quota used up', data: { retryAfter: 7 } });
  await soon(() => changes(standing, taskId).at(-1)).toMatchObject({
    status: 'failed',
    statusMessage: 'quota used up',
  });
});

const REPORT_ERRORS = { plain: startV1Http, core: startTasksV1Http, ext: startTasksV2Http };

test.each(Object.entries(REPORT_ERRORS))(
  'D-3, T-5: a tool result with isError makes a 2025-11-25 task failed, and is its result: a %s server',
  async (_kind, start) => {
    const { wire, standing } = await behind(start);
    const { taskId } = await wire.begin('fail');
    expect(await wire.request('tasks/result', { taskId })).toMatchObject({
      content: [{ type: 'text', text: 'disk on fire' }],
      isError: true,
      _meta: { [RELATED]: { taskId } },
    });
    expect(await wire.request('tasks/get', { taskId })).toMatchObject({ status: 'failed' });
    expect((await wire.request('tasks/list'))['tasks']).toMatchObject([{ taskId, status: 'failed' }]);
    await soon(() => changes(standing, taskId).at(-1)?.['status']).toBe('failed');
    expect(passed(changes(standing, taskId))).not.toContain('completed');
    expect(await wire.error('tasks/cancel', { taskId })).toMatchObject({
      code: -32602,
      message: expect.stringContaining("'failed'") as string,
    });
  },
);

test('D-4, T-5: in the tasks extension, a tool result with isError makes the task completed', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, { direct: { taskAfterMs: 50 } });
  const wire = new ModernWire(`${url}/one`);
  const { taskId } = await wire.call('fail', { ms: 500 });
  expect(await wire.task(taskId, 'completed')).toMatchObject({ result: { isError: true } });
});

test('D-3: tasks/result gets an error when the task is cancelled', async () => {
  const { wire, standing } = await behind(startV1Http);
  const { taskId } = await wire.begin('slow', { ms: 600_000 });
  const waiting = await wire.stream('tasks/result', { taskId });
  await wire.request('tasks/cancel', { taskId });
  expect((await waiting.answered()).error?.message).toContain('cancelled');
  await soon(() => changes(standing, taskId).at(-1)?.['status']).toBe('cancelled');
});

test('D-3: several clients of tasks/result get the result, before and after the task ends', async () => {
  const { wire } = await behind(startV1Http);
  const { taskId } = await wire.begin('slow', { ms: 400, text: 'for all' });
  const before = await Promise.all([wire.stream('tasks/result', { taskId }), wire.stream('tasks/result', { taskId })]);
  for (const stream of before) expect(textOf(await stream.result())).toBe('for all');
  expect(textOf(await wire.request('tasks/result', { taskId }))).toBe('for all');
});

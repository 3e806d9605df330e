import { expect, test, vi } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { DOORS } from '../flows/doors.ts';
import { settle, soon, tasksOf } from '../flows/watch.ts';
import { replyOfResult, roundIn, roundOf } from './by-hand.ts';
import { askableThrough, withSecondDoor } from './clients.ts';
import { startWorkingServer } from './working-server.ts';

const ASK = { server: 'one', tool: 'ask' };
const WORK = { server: 'one', tool: 'ask_and_work' };
const modern = (door: 'http' | 'stdio') => ({ door, kind: 'modern' }) as const;

test.each(DOORS)('H-13, H-3: a call that times out after a round becomes a task (%s)', async (door) => {
  const server = owned(await startWorkingServer());
  const hub = await askableThrough(modern(door), { one: { url: server.url } });
  await settle(hub);
  const call = hub.call('execute_tool', { ...WORK, timeout_ms: 500 });
  await hub.person.accepts({ name: 'Ann' });
  const promoted = await call;
  expect(promoted.text).toMatch(/^Tool call exceeded timeout \(500ms\)/);
  server.release();
  expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Ann');
});

test.each(DOORS)('H-13, T-7: progress of a call reaches the client after a round (%s)', async (door) => {
  const server = owned(await startWorkingServer());
  const hub = await askableThrough(modern(door), { one: { url: server.url } });
  await settle(hub);
  const heard: unknown[] = [];
  const call = hub.call('execute_tool', WORK, { onprogress: (step) => heard.push(step) });
  await hub.person.accepts({ name: 'Bo' });
  // Its SDK tells of its rounds, too.
  const told = { progress: 3, total: 4, message: 'working for Hello Bo' };
  await vi.waitFor(() => expect(heard).toContainEqual(told), { timeout: 10_000 });
  server.release();
  expect((await call).text).toBe('Hello Bo');
});

test('H-13, T-4: over stdio cancelling after a round cancels the call on the server', async () => {
  const server = owned(await startWorkingServer());
  const hub = await askableThrough(modern('stdio'), { one: { url: server.url } });
  await settle(hub);
  const user = new AbortController();
  const call = hub.call('execute_tool', WORK, { signal: user.signal });
  const stopped = expect(call).rejects.toThrow();
  await hub.person.accepts({ name: 'Cid' });
  await soon(() => tasksOf(hub)).toMatchObject([{ status_message: 'working for Hello Cid' }]);
  user.abort(new Error('changed my mind'));
  await stopped;
  await soon(() => server.cancelled).toEqual(['ask_and_work']);
  expect(await tasksOf(hub)).toMatchObject([{ status: 'cancelled' }]);
});

test('H-13, T-4: over HTTP a client that leaves after a round finds the result later', async () => {
  const server = owned(await startWorkingServer());
  const { hub, other } = await withSecondDoor('modern', { one: { url: server.url } });
  await settle(hub);
  const user = new AbortController();
  const call = hub.call('execute_tool', WORK, { signal: user.signal });
  const left = expect(call).rejects.toThrow();
  await hub.person.accepts({ name: 'Dag' });
  await soon(() => tasksOf(other)).toMatchObject([{ status_message: 'working for Hello Dag' }]);
  user.abort();
  await left;
  server.release();
  const [task] = await tasksOf(other);
  expect((await other.call('get_task_result', { task_id: task?.['task_id'] })).text).toBe('Hello Dag');
  expect(server.cancelled).toEqual([]);
});

test('H-13: a question of an undeclared kind makes the call a task, after the declared kind was asked', async () => {
  const server = owned(await startWorkingServer());
  const hub = await askableThrough(modern('http'), { one: { url: server.url } }, {}, { elicitation: {} });
  const call = hub.call('execute_tool', { server: 'one', tool: 'ask_two_kinds' });
  await hub.person.accepts({ name: 'Eli' });
  const promoted = await call;
  expect(promoted.text).toMatch(/^The call needs input/);
  expect(promoted.elicitations).toEqual([]);
  const [{ requestId } = { requestId: '' }] = promoted.samplings;
  await hub.call('respond_to_sampling', { request_id: requestId, content: 'hm', model: 'thinker' });
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(result.text).toBe('Hello Eli, says thinker');
});

test('H-13: a client with a session answers a form and a sampling request in one call', async () => {
  const server = owned(await startWorkingServer());
  const hub = await askableThrough({ door: 'http', kind: 'v1' }, { one: { url: server.url } });
  const call = hub.call('execute_tool', { server: 'one', tool: 'ask_two_kinds' });
  await hub.person.question(1);
  for (const { method, answer } of hub.person.asked) {
    if (method === 'elicitation/create') answer({ action: 'accept', content: { name: 'Fay' } });
    else answer({ role: 'assistant', model: 'mine', content: { type: 'text', text: 'hm' } });
  }
  expect((await call).text).toBe('Hello Fay, says mine');
});

test.each(['v1', 'modern'] as const)('H-13: the hub does not ask clients for roots (%s)', async (kind) => {
  const server = owned(await startWorkingServer());
  const capabilities = { elicitation: {}, roots: { listChanged: true } };
  const hub = await askableThrough({ door: 'http', kind }, { one: { url: server.url } }, {}, capabilities);
  const reply = await hub.call('execute_tool', { server: 'one', tool: 'folders' });
  expect(reply.text).toBe('0 folders');
});

test('H-13, S-5: a forged request state is refused', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const { requestState, inputRequests } = roundIn(await roundOf(url, ASK));
  const [key = ''] = Object.keys(inputRequests);
  const inputResponses = { [key]: { action: 'accept', content: { name: 'Gil' } } };
  const [payload = '', signature = ''] = requestState.split('.');
  for (const forged of ['', 'x', `${payload}.`, `${payload}.${signature.slice(1)}`, `${payload}x.${signature}`]) {
    const { error } = await roundOf(url, ASK, { inputResponses, requestState: forged });
    expect(error, forged).toMatchObject({ code: -32602, message: expect.stringContaining('requestState') as string });
  }
  const other = replyOfResult(await roundOf(url, { server: 'one', tool: 'echo' }, { inputResponses, requestState }));
  expect(other.code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  const told = replyOfResult(await roundOf(url, ASK, { inputResponses, requestState }));
  expect(told.text).toBe('Hello Gil');
  // Over is over.
  const again = replyOfResult(await roundOf(url, ASK, { inputResponses, requestState }));
  expect(again.code).toBe('TOOL_ERR_TASK_NOT_FOUND');
  expect(again.text).toContain('call again without requestState');
});

test('H-13: a round without answers is asked again', async () => {
  const server = owned(await startTasksV2Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const first = roundIn(await roundOf(url, { server: 'one', tool: 'ask_both' }));
  const keys = Object.keys(first.inputRequests);
  expect(keys).toHaveLength(2);
  const again = roundIn(await roundOf(url, { server: 'one', tool: 'ask_both' }, { requestState: first.requestState }));
  expect(again.inputRequests).toEqual(first.inputRequests);
  const [name = '', age = ''] = keys.toSorted((a, b) => message(first, b).localeCompare(message(first, a)));
  const one = roundIn(
    await roundOf(
      url,
      { server: 'one', tool: 'ask_both' },
      { requestState: again.requestState, inputResponses: { [name]: { action: 'accept', content: { name: 'Hal' } } } },
    ),
  );
  expect(Object.keys(one.inputRequests)).toEqual([age]);
  const inputResponses = { [age]: { action: 'accept', content: { age: 9 } } };
  const { requestState } = one;
  const last = await roundOf(url, { server: 'one', tool: 'ask_both' }, { requestState, inputResponses });
  expect(replyOfResult(last).text).toBe('Hello Hal, 9');
});

function message({ inputRequests }: ReturnType<typeof roundIn>, key: string): string {
  return String(inputRequests[key]?.params?.['message']);
}

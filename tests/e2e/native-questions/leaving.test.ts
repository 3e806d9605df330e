import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { owned } from '../../support/owned.ts';
import { WAYS } from '../flows/doors.ts';
import { returnTo } from '../flows/raw.ts';
import { settle, soon, tasksOf } from '../flows/watch.ts';
import { askableThrough, BOTH_KINDS } from './clients.ts';
import { rawCall } from './raw-call.ts';

const ASK = { server: 'one', tool: 'ask' };
const LEGACY = WAYS.filter(({ kind }) => kind !== 'modern');

test.each(LEGACY)(
  'H-13, H-3: a call that times out during a question becomes a task, with the question at the hub ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough(way, { one: { url: server.url } });
    await settle(hub);
    const call = hub.call('execute_tool', { ...ASK, timeout_ms: 300 });
    const asked = await hub.person.question();
    const promoted = await call;
    expect(promoted.text).toMatch(/^Tool call exceeded timeout \(300ms\)/);
    await soon(() => asked.withdrawn.aborted).toBe(true);
    const [{ requestId } = { requestId: '' }] = promoted.elicitations;
    await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Ulf' } });
    expect((await hub.call('get_task_result', { task_id: taskIdOf(promoted) })).text).toBe('Hello Ulf');
    expect(hub.person.asked).toHaveLength(1);
  },
);

test.each(LEGACY)(
  'H-13, T-4: a client that stops waiting during a question finds it at the hub ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await askableThrough(way, { one: { url: server.url } });
    await settle(hub);
    await expect(hub.call('execute_tool', ASK, { timeout: 400 })).rejects.toThrow(/timed out/i);
    await soon(() => tasksOf(hub)).toHaveLength(1);
    const { elicitations, body } = await hub.call('list_tasks');
    expect(body['tasks']).toMatchObject([{ task_id: elicitations[0]?.taskId, status: 'working' }]);
    const requestId = elicitations[0]?.requestId;
    await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Wim' } });
    expect((await hub.call('get_task_result', { task_id: elicitations[0]?.taskId })).text).toBe('Hello Wim');
  },
);

test.each(['native', 'both'] as const)(
  'H-13, T-4: a client whose connection breaks during a question finds it at the hub (%s)',
  async (via) => {
    const server = owned(await startV1Http());
    const { url, gateway } = await httpGateway({ one: { url: server.url } }, { questions: { via } });
    const { session, messages, destroy } = await rawCall(url, ASK);
    await vi.waitFor(() => expect(messages()).toMatchObject([{ method: 'elicitation/create' }]), { timeout: 10_000 });
    destroy();
    await soon(() => gateway.sessions[0]?.tasks.list().length).toBe(1);
    const hub = await returnTo(url, session);
    const next = await hub.call('list_tasks');
    const [{ requestId, taskId } = { requestId: '' }] = next.elicitations;
    expect(next.body['tasks']).toMatchObject([{ task_id: taskId }]);
    await hub.call('respond_to_elicitation', { request_id: requestId, action: 'accept', content: { name: 'Xi' } });
    expect((await hub.call('get_task_result', { task_id: taskId })).text).toBe('Hello Xi');
  },
);

test('H-13: on the stream of the call, the question is cancelled before the reply', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const { messages, ended } = await rawCall(url, { ...ASK, timeout_ms: 500 });
  await ended;
  const [asked, cancelled, reply] = messages();
  expect(asked).toMatchObject({ id: expect.any(String) as string, method: 'elicitation/create' });
  expect(cancelled).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked?.['id'] } });
  expect(reply).toMatchObject({ id: 'call', result: { isError: false } });
  expect(messages()).toHaveLength(3);
});

test.each(LEGACY)('H-13, T-4: cancelling the call withdraws the question from the user ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await askableThrough(way, { one: { url: server.url } });
  await settle(hub);
  const user = new AbortController();
  const call = hub.call('execute_tool', ASK, { signal: user.signal });
  const asked = await hub.person.question();
  user.abort(new Error('changed my mind'));
  await expect(call).rejects.toThrow('changed my mind');
  await soon(() => asked.withdrawn.aborted).toBe(true);
  await soon(() => server.state.cancelled).toEqual(['ask']);
  expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
  expect(await tasksOf(hub)).toEqual([]);
});

test.each([
  { door: 'http', kind: 'v1' },
  { door: 'stdio', kind: 'v2' },
] as const)('H-13, T-7: a client gets progress while its user answers a question ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const clock = new JumpingClock();
  const hub = await askableThrough(way, { one: { url: server.url } }, {}, BOTH_KINDS, clock);
  await settle(hub);
  const heard: unknown[] = [];
  const options = { timeout: 12_000, resetTimeoutOnProgress: true, onprogress: (step: unknown) => heard.push(step) };
  const call = hub.call('execute_tool', ASK, options);
  const asked = await hub.person.question();
  clock.jump(10_000);
  await vi.waitFor(() => expect(heard).toHaveLength(1), { timeout: 10_000 });
  expect(heard).toMatchObject([{ message: expect.stringMatching(/^execute_tool is running: 1\d s$/) as string }]);
  asked.answer({ action: 'accept', content: { name: 'Yrsa' } });
  expect((await call).text).toBe('Hello Yrsa');
});

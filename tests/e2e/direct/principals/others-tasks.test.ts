import { expect, test } from 'vitest';
import { soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept, ModernWire, onlyQuestion, ROUNDS } from '../modern-wire.ts';
import { twoPrincipals } from './two.ts';

const SLOW = { ms: 600_000 };

test('S-1, D-3, X-2: a legacy session sees no task of another session, of the same or another principal', async () => {
  const { one, ada, ben } = await twoPrincipals();
  const owner = await LegacyWire.open(one, { headers: ada.headers });
  const { taskId } = await owner.begin('slow', SLOW);
  const strangers = await Promise.all([
    LegacyWire.open(one, { headers: ada.headers }),
    LegacyWire.open(one, { headers: ben.headers }),
  ]);
  for (const stranger of strangers) {
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect(await stranger.error(method, { taskId })).toMatchObject({ code: -32602 });
    }
    expect(await stranger.request('tasks/list')).toEqual({ tasks: [] });
  }
  expect(await owner.request('tasks/get', { taskId })).toMatchObject({ status: 'working' });
});

test('S-1, X-2: only the session that started a task gets its status notifications', async () => {
  const { one, ada, ben } = await twoPrincipals();
  const owner = await LegacyWire.open(one, { headers: ada.headers });
  const others = await Promise.all([
    LegacyWire.open(one, { headers: ada.headers }),
    LegacyWire.open(one, { headers: ben.headers }),
  ]);
  const [told, ...notTold] = await Promise.all([owner, ...others].map((wire) => wire.listen()));
  const { taskId } = await owner.begin('slow', { ms: 50 });
  await soon(() => told?.told('notifications/tasks/status').at(-1)).toMatchObject({ taskId, status: 'completed' });
  expect(notTold.flatMap(({ messages }) => messages)).toEqual([]);
});

test('X-2, D-4: a task id is unknown to another principal and at another server', async () => {
  const { one, ext, ada, ben } = await twoPrincipals();
  const owner = new ModernWire(one, { headers: ada.headers });
  const { taskId } = await owner.call('slow', SLOW);
  const strangers = [new ModernWire(one, { headers: ben.headers }), new ModernWire(ext, { headers: ada.headers })];
  for (const stranger of strangers) {
    expect(await stranger.error('tasks/get', { taskId })).toMatchObject({ code: -32602 });
    expect(await stranger.error('tasks/cancel', { taskId })).toMatchObject({ code: -32602 });
    expect(await stranger.error('tasks/update', { taskId, inputResponses: {} })).toMatchObject({ code: -32602 });
    const listening = await stranger.listen({ taskIds: [taskId] });
    const acknowledged = await listening.heard('notifications/subscriptions/acknowledged');
    expect(acknowledged['params']).toMatchObject({ notifications: {} });
    await owner.request('tasks/get', { taskId });
    expect(listening.told('notifications/tasks')).toEqual([]);
  }
  const legacy = await LegacyWire.open(one, { headers: ada.headers });
  expect(await legacy.error('tasks/get', { taskId })).toMatchObject({ code: -32602 });
  expect(await owner.request('tasks/get', { taskId })).toMatchObject({ status: 'working' });
});

test('S-5: modern clients of one principal share their tasks at one server', async () => {
  const { one, ada } = await twoPrincipals();
  const first = new ModernWire(one, { headers: ada.headers });
  const { taskId } = await first.call('slow', { ms: 1500, text: 'shared' });
  const second = new ModernWire(one, { headers: ada.headers });
  const { result } = await second.task(taskId, 'completed');
  expect(textOf(result as Record<string, unknown>)).toBe('shared');
});

test('X-2, S-5: a request state is invalid for another principal and at another server', async () => {
  const { one, ext, ada, ben, server } = await twoPrincipals();
  const owner = new ModernWire(one, { capabilities: ROUNDS, headers: ada.headers });
  const round = await owner.ask('ask');
  const { key } = onlyQuestion(round);
  const { requestState } = round;
  const inputResponses = { [key]: accept({ name: 'Mallory' }) };
  const params = { name: 'ask', arguments: {}, requestState, inputResponses };
  const strangers = [
    new ModernWire(one, { capabilities: ROUNDS, headers: ben.headers }),
    new ModernWire(ext, { capabilities: ROUNDS, headers: ada.headers }),
  ];
  for (const stranger of strangers) {
    expect(await stranger.error('tools/call', params)).toMatchObject({ code: -32602 });
  }
  const answers = { [key]: accept({ name: 'Ada' }) };
  expect(textOf(await owner.call('ask', {}, { requestState, inputResponses: answers }))).toBe('Hello Ada');
  expect(server.state.calls).toHaveLength(1);
});

import {
  TaskStatusNotificationV2Schema,
  TaskSubscriptionAcknowledgedNotificationsV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import type { Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon } from '../../flows/watch.ts';
import { accept, ModernWire, onlyQuestion } from '../modern-wire.ts';
import type { MessageStream } from '../stream.ts';

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

async function behind() {
  const plain = owned(await startV1Http());
  const keeper = owned(await startTasksV2Http());
  const servers = { one: { url: plain.url }, ext: { url: keeper.url } };
  const { url, gateway } = await httpGateway(servers, { direct: { taskAfterMs: 500 } });
  return { plain, keeper, gateway, one: new ModernWire(`${url}/one`), ext: new ModernWire(`${url}/ext`) };
}

function statusesOf(stream: MessageStream, taskId: unknown): unknown[] {
  const told = stream.told('notifications/tasks').filter((task) => task['taskId'] === taskId);
  return told.map(({ status }) => status);
}

/** In order, each state once however often it was told. */
const passed = (states: unknown[]): unknown[] => states.filter((state, index) => state !== states[index - 1]);

test('D-4: a subscription to a task reports its current status and then each change', async () => {
  const { ext } = await behind();
  const { taskId } = await ext.call('ask');
  const { key } = onlyQuestion((await ext.task(taskId, 'input_required')) as never);
  const stream = await ext.listen({ taskIds: [taskId] });
  const acknowledged = await stream.heard('notifications/subscriptions/acknowledged');
  const { notifications } = acknowledged['params'] as Json;
  expect(TaskSubscriptionAcknowledgedNotificationsV2Schema.parse(notifications)).toEqual({ taskIds: [taskId] });
  await soon(() => statusesOf(stream, taskId)).toEqual(['input_required']);
  await ext.request('tasks/update', { taskId, inputResponses: { [key]: accept({ name: 'Ada' }) } });
  await soon(() => statusesOf(stream, taskId).at(-1)).toBe('completed');
  expect(passed(statusesOf(stream, taskId))).toEqual(['input_required', 'working', 'completed']);
  const told = stream.messages.filter(({ method }) => method === 'notifications/tasks');
  for (const message of told) TaskStatusNotificationV2Schema.parse(message);
  const [first] = told;
  expect(first?.['params']).toMatchObject({ inputRequests: { [key]: { method: 'elicitation/create' } } });
  const last = told.at(-1)?.['params'] as Json;
  expect(last).toMatchObject({ result: { content: [{ text: 'Hello Ada' }] } });
  for (const { params } of stream.messages) expect((params as { _meta: Json })._meta[SUBSCRIPTION_ID]).toBeDefined();
});

test('D-4: a subscription to a task that has ended reports its status once', async () => {
  const { one } = await behind();
  const { taskId } = await one.call('slow', { ms: 1500 });
  await one.task(taskId, 'completed');
  const stream = await one.listen({ taskIds: [taskId] });
  await soon(() => statusesOf(stream, taskId)).toEqual(['completed']);
});

test('D-4: only existing tasks that were requested are acknowledged and reported', async () => {
  const { one } = await behind();
  const [first, second] = await Promise.all([one.call('slow', { ms: 1900 }), one.call('slow', { ms: 1500 })]);
  const stream = await one.listen({ taskIds: [first['taskId'], 'nonsense', 5, null] });
  const { params } = await stream.heard('notifications/subscriptions/acknowledged');
  expect((params as Json)['notifications']).toEqual({ taskIds: [first['taskId']] });
  await soon(() => statusesOf(stream, first['taskId']).at(-1)).toBe('completed');
  expect(statusesOf(stream, second['taskId'])).toEqual([]);
});

test('D-4, D-5: a subscription reports tasks, lists and resources, each only as requested', async () => {
  const { one, plain } = await behind();
  const { taskId } = await one.call('slow', { ms: 1500 });
  const both = await one.listen({
    taskIds: [taskId],
    toolsListChanged: true,
    resourceSubscriptions: ['test://text', 'test://n/0'],
  });
  const other = await one.listen({ promptsListChanged: true });
  const { params } = await both.heard('notifications/subscriptions/acknowledged');
  expect((params as Json)['notifications']).toEqual({
    taskIds: [taskId],
    toolsListChanged: true,
    resourceSubscriptions: ['test://text', 'test://n/0'],
  });
  expect([...plain.state.subscriptions]).toEqual(['test://text', 'test://n/0']);
  await one.call('touch', { uri: 'test://text' });
  await one.call('list_changed');
  await both.heard('notifications/tools/list_changed');
  await other.heard('notifications/prompts/list_changed');
  await soon(() => both.told('notifications/resources/updated').map(({ uri }) => uri)).toEqual(['test://text']);
  expect(both.told('notifications/prompts/list_changed')).toEqual([]);
  expect(both.told('notifications/resources/list_changed')).toEqual([]);
  expect(other.told('notifications/tools/list_changed')).toEqual([]);
  await soon(() => statusesOf(both, taskId).at(-1)).toBe('completed');
  // Whoever is the last to listen for a resource ends it on the server, too.
  const third = await one.listen({ resourceSubscriptions: ['test://text'] });
  await third.heard('notifications/subscriptions/acknowledged');
  both.drop();
  await soon(() => [...plain.state.subscriptions]).toEqual(['test://text']);
  third.drop();
  await soon(() => [...plain.state.subscriptions]).toEqual([]);
});

test.each([undefined, null, 5, [], 'all', { taskIds: 'x' }, { taskIds: {} }, { resourceSubscriptions: [5, {}] }, {}])(
  'D-4, X-4: a subscription to %j reports nothing, and later calls work',
  async (notifications) => {
    const { one, gateway } = await behind();
    const stream = await one.stream('subscriptions/listen', notifications === undefined ? {} : { notifications });
    if (stream.raw.status === 200) {
      const { params } = await stream.heard('notifications/subscriptions/acknowledged');
      expect((params as Json)['notifications']).toEqual({});
      stream.drop();
    } else expect(stream.raw.status).toBe(400);
    expect(await one.call('echo', { text: 'x' })).toMatchObject({ content: [{ text: 'x' }] });
    await soon(() => gateway.sessions.filter(({ busy }) => busy)).toEqual([]);
  },
);

test('D-4: a subscription to tasks requires the tasks extension', async () => {
  const { one } = await behind();
  const { taskId } = await one.call('slow', { ms: 1500 });
  const others = one.as({ elicitation: {} });
  const { status, error } = await others.send('subscriptions/listen', { notifications: { taskIds: [taskId] } });
  expect({ status, code: error?.code }).toEqual({ status: 400, code: -32021 });
});

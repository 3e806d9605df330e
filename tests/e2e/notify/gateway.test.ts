/** What a gateway tells of: questions, tasks and servers. */
import { describe, expect, test } from 'vitest';
import { withToken } from '../../support/console.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { Receiver } from '../../support/receiver.ts';
import { TestClock } from '../../support/test-clock.ts';
import { ANN, OLA, PEOPLE, servers } from '../console/setup.ts';
import { nextTold, notified, SECRET, target } from './setup.ts';

test('N-1: only a question that stays open for afterMs is notified', async () => {
  const hook = await Receiver.start();
  const clock = new TestClock(Date.now());
  const { config } = await servers();
  const targets = { hook: target(hook, { afterMs: 60_000 }) };
  const gateway = await httpGateway(config, { notify: { targets } }, clock);
  const { outbox } = gateway.gateway.store;
  const waiting = async (): Promise<unknown[]> => (await outbox.list(10)).map(({ subject }) => subject);
  const hub = await hubOverHttp(gateway.url);
  const quick = await hub.call('execute_tool', { server: 'old', tool: 'ask', args: {} });
  const id = quick.elicitations[0]?.requestId;
  await expect.poll(waiting).toEqual([`question ${id}`]);
  await hub.call('respond_to_elicitation', { request_id: id, action: 'decline' });
  await expect.poll(waiting).toEqual([]);
  const slow = await hub.call('execute_tool', { server: 'new', tool: 'ask', args: {} });
  const questionId = slow.elicitations[0]?.requestId;
  await expect.poll(waiting).toEqual([`question ${questionId}`]);
  clock.advance(60_000);
  expect((await nextTold(hook, 'question.opened')).data).toMatchObject({ server: 'new', tool: 'ask', questionId });
  await expect.poll(waiting).toEqual([]);
  expect(hook.received).toHaveLength(1);
});

test('N-1: the end of a task and the loss of a server are notified', async () => {
  const { hub, told, v1, gateway } = await notified({ events: ['task', 'server'] }, { serverDownMs: 50 });
  const call = await hub.call('execute_tool', { server: 'old', tool: 'slow', args: { ms: 50 }, timeout_ms: 0 });
  const { data } = await told('task.ended');
  expect(data).toMatchObject({ server: 'old', tool: 'slow', taskId: taskIdOf(call), status: 'completed' });
  expect(data['link']).toMatch(/\/console#\/c\/\w+$/);
  await v1.close();
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'x' } });
  expect((await told('server.down')).data).toMatchObject({ server: 'old', principal: 'local' });
  const text = await (await fetch(new URL('/metrics', gateway.url))).text();
  expect(text).toContain('meanwhile_notifications');
});

describe('the webhook of a task', () => {
  const meta = (url: unknown) => ({ _meta: { 'meanwhile/webhook': url } });
  const slow = (more: object) => ({
    name: 'execute_tool',
    arguments: { server: 'old', tool: 'slow', args: { ms: 50 }, timeout_ms: 0 },
    ...more,
  });

  test('N-4: is called when the task ends, and is not sent to the server', async () => {
    const ci = await Receiver.start();
    const allowed = { taskWebhooks: { allow: [`${ci.url}/*`], secret: SECRET } };
    const { hub, hook, v1 } = await notified({}, allowed);
    await hub.request('tools/call', slow(meta(`${ci.url}/done`)));
    const { path, data } = await nextTold(ci, 'task.ended');
    expect([path, data]).toMatchObject(['/done', { server: 'old', tool: 'slow', status: 'completed' }]);
    expect(hook.received).toEqual([]);
    expect(JSON.stringify(v1.state)).not.toContain('/done');
    const refused = await hub.request('tools/call', slow(meta('http://127.0.0.1:1/')));
    expect(JSON.stringify(refused)).toContain('calling http://127.0.0.1:1 is not allowed');
  });

  test('N-4: is refused if it is not configured, and at a direct endpoint', async () => {
    const { hub, gateway } = await notified();
    expect(JSON.stringify(await hub.request('tools/call', slow(meta('https://ci.test/'))))).toContain(
      'notify.taskWebhooks',
    );
    const direct = await hubOverHttp(`${gateway.url}/old`);
    const call = { name: 'slow', arguments: { ms: 1 }, ...meta('https://ci.test/') };
    await expect(direct.request('tools/call', call)).rejects.toThrow('notify.taskWebhooks');
  });
});

test('N-1: each target gets messages of its principals, and operators see the waiting ones', async () => {
  const [ann, all] = [await Receiver.start(), await Receiver.start()];
  all.always = 500;
  const targets = { ann: target(ann, { principals: ['ann'] }), all: target(all) };
  const { config } = await servers();
  const gateway = await httpGateway(config, { notify: { targets }, ...PEOPLE });
  const hub = await hubOverHttp(gateway.url, 'v1', { authorization: `Bearer ${ANN}` });
  await hub.call('execute_tool', { server: 'old', tool: 'ask', args: {} });
  await nextTold(ann, 'question.opened');
  await nextTold(all, 'question.opened');
  const operator = withToken(gateway, OLA);
  await expect
    .poll(async () => operator.items('/notifications'))
    .toMatchObject([{ target: 'all', state: 'waiting', attempts: 1, error: 'HTTP 500: {}' }]);
  expect((await withToken(gateway, ANN).get('/notifications')).status).toBe(403);
  const logs = JSON.stringify(gateway.logs);
  expect(logs).toContain('notification_failed');
  expect(logs).not.toContain(SECRET);
});

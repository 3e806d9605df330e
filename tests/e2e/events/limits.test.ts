import { expect, test } from 'vitest';
import type { Session } from '../../../src/core/session/session.ts';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type HubEvent, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { heard, sayAll } from '../../support/unasked.ts';

interface Setup {
  a: V1Http;
  b: V1Http;
  gateway: TestGateway;
  hub: HubClient;
  session: Session;
}

async function setup(events: SettingsInput): Promise<Setup> {
  const a = owned(await startV1Http());
  const b = owned(await startV1Http());
  const gateway = await httpGateway({ a: { url: a.url }, b: { url: b.url } }, { events });
  const hub = await hubOverHttp(gateway.url);
  await hub.call('list_tools');
  const [session] = gateway.gateway.sessions;
  if (session === undefined) throw new Error('the client has no session');
  await heard(a, session, 'a');
  await heard(b, session, 'b');
  await hub.call('get_notifications');
  return { a, b, gateway, hub, session };
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `test://n/${index}`);
const uriOf = ({ data }: HubEvent): unknown => (data['params'] as Json)['uri'];
const of = ({ events }: Reply, type: string, server?: string): HubEvent[] =>
  events.filter((event) => event.type === type && (server === undefined || event.server === server));

test('E-2: a flood of notifications evicts only those of its server, and the loss is counted', async () => {
  const { a, b, hub, session } = await setup({ perSession: 50, notificationsPerServer: 5 });
  await sayAll(b, session, 'b', ['test://b/1', 'test://b/2']);
  await sayAll(a, session, 'a', numbered(40));
  const reply = await hub.call('list_tasks');
  expect(of(reply, 'notification', 'b').map(uriOf)).toEqual(['test://b/1', 'test://b/2']);
  expect(of(reply, 'notification', 'a').map(uriOf)).toEqual(numbered(40).slice(-5));
  expect(of(reply, 'events_dropped').map(({ server, data }) => ({ server, data }))).toEqual([
    { server: 'a', data: { count: 35 } },
  ]);
  // After that the count begins anew.
  await sayAll(a, session, 'a', numbered(6));
  expect(of(await hub.call('list_tasks'), 'events_dropped')[0]?.data).toEqual({ count: 1 });
});

test('E-2: delivered events are evicted without being counted as lost', async () => {
  const { a, hub, session } = await setup({ perSession: 10, notificationsPerServer: 8 });
  for (let round = 0; round < 5; round += 1) {
    await sayAll(
      a,
      session,
      'a',
      numbered(6).map((uri) => `${uri}/${round}`),
    );
    const { events } = await hub.call('list_tasks');
    expect(events.map(({ type }) => type)).toEqual(numbered(6).map(() => 'notification'));
  }
  expect(session.events.counts.kept).toBeLessThanOrEqual(10);
});

test('E-2: open questions and results of tasks are not evicted', async () => {
  const { a, b, hub, session, gateway } = await setup({ perSession: 10, notificationsPerServer: 8 });
  const asked = await hub.call('execute_tool', { server: 'a', tool: 'ask', args: { message: 'Still there?' } });
  const slow = await hub.call('execute_tool', {
    server: 'b',
    tool: 'slow',
    args: { ms: 100, text: 'kept' },
    timeout_ms: 10,
  });
  await expect.poll(() => session.tasks.get(taskIdOf(slow)).status).toBe('completed');
  await sayAll(a, session, 'a', numbered(8));
  await sayAll(b, session, 'b', numbered(8));

  const reply = await hub.call('list_tasks');
  // 1 task_completed and 16 notifications happened; each was told or counted.
  const dropped = of(reply, 'events_dropped').reduce((sum, { data }) => sum + Number(data['count']), 0);
  expect(dropped).toBeGreaterThan(0);
  expect(reply.events.length - of(reply, 'events_dropped').length + dropped).toBe(17);
  expect(reply.elicitations.map(({ message }) => message)).toEqual(['Still there?']);
  expect((await hub.call('get_task_result', { task_id: taskIdOf(slow) })).text).toBe('kept');
  await hub.call('respond_to_elicitation', {
    request_id: reply.elicitations[0]?.requestId,
    action: 'accept',
    content: { name: 'Ada' },
  });
  expect((await hub.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');
  expect(gateway.logs.filter(({ event }) => event === 'event_store_eviction').length).toBeGreaterThan(0);
});

test('E-2: a warning is logged at 80 %, and again only after there was room', async () => {
  const { a, hub, session, gateway } = await setup({ perSession: 10, notificationsPerServer: 10 });
  const warnings = (): Json[] =>
    gateway.logs.flatMap(({ event, level, data }) =>
      event === 'event_store_approaching_limit' ? [{ level, ...data }] : [],
    );
  await sayAll(a, session, 'a', numbered(7));
  expect(warnings()).toEqual([]);
  await sayAll(a, session, 'a', ['test://eighth', 'test://ninth']);
  expect(warnings()).toEqual([{ level: 'warn', sessionId: session.id, totalCount: 8, maxEvents: 10 }]);
  await hub.call('list_tasks');
  await sayAll(a, session, 'a', numbered(9));
  expect(warnings()).toHaveLength(2);
});

test('E-2: logs are limited per server', async () => {
  const { hub } = await setup({ logsPerServer: 4 });
  await hub.call('execute_tool', { server: 'a', tool: 'log', args: { level: 'info', count: 10 } });
  await hub.call('execute_tool', { server: 'b', tool: 'log', args: { level: 'info', count: 2 } });
  const { body } = await hub.call('get_logs');
  const logs = body['logs'] as Json[];
  expect(logs.filter(({ server }) => server === 'a').map(({ data }) => data)).toEqual([
    { n: 6 },
    { n: 7 },
    { n: 8 },
    { n: 9 },
  ]);
  expect(logs.filter(({ server }) => server === 'b')).toHaveLength(2);
});

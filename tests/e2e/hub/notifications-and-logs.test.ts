import { expect, test } from 'vitest';
import type { Session } from '../../../src/core/session/session.ts';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind, type HubClient, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { heard, say } from '../../support/unasked.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];

interface Setup {
  hub: HubClient;
  session: Session;
  one: V1Http;
  two: V1Http;
}

async function setup(kind: ClientKind = 'v1'): Promise<Setup> {
  const one = owned(await startV1Http());
  const two = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: one.url }, two: { url: two.url } });
  const hub = await hubOverHttp(gateway.url, kind);
  await hub.call('list_tools');
  const [session] = gateway.gateway.sessions;
  if (session === undefined) throw new Error('the client has no session');
  return { hub, session, one, two };
}

const notify = (hub: HubClient, server: string, count: number): Promise<Reply> =>
  hub.call('execute_tool', { server, tool: 'notify', args: { count } });

const log = (hub: HubClient, server: string, level: string, count: number): Promise<Reply> =>
  hub.call('execute_tool', { server, tool: 'log', args: { level, count } });

const uris = (items: Json[]): unknown[] => items.map(({ params }) => (params as Json)['uri']);

async function notifications(hub: HubClient, args: Json = {}): Promise<Json[]> {
  return (await hub.call('get_notifications', args)).body['notifications'] as Json[];
}

async function logs(hub: HubClient, args: Json = {}): Promise<Json[]> {
  return (await hub.call('get_logs', args)).body['logs'] as Json[];
}

test.each(KINDS)('E-3: get_notifications does not repeat a notification that came as an event (%s)', async (kind) => {
  const { hub } = await setup(kind);
  const { events } = await notify(hub, 'one', 2);
  expect(events.map(({ type, server }) => `${type} ${server}`)).toEqual(['notification one', 'notification one']);
  expect(uris(events.map(({ data }) => data))).toEqual(['test://n/0', 'test://n/1']);
  expect(await notifications(hub)).toEqual([]);
  const again = await notifications(hub, { include_delivered: true });
  expect(again).toEqual([
    expect.objectContaining({ server: 'one', method: 'notifications/resources/updated' }),
    expect.objectContaining({ server: 'one', params: { uri: 'test://n/1' } }),
  ]);
  expect(again[0]).toHaveProperty('timestamp');
});

test.each(KINDS)('E-3: a notification that get_notifications returned does not come as an event (%s)', async (kind) => {
  const { hub, session, one, two } = await setup(kind);
  await heard(one, session, 'one');
  await heard(two, session, 'two');

  const first = await hub.call('get_notifications', { server: 'one' });
  const own = first.body['notifications'] as Json[];
  expect(own.length).toBeGreaterThan(0);
  expect(own.every(({ server }) => server === 'one')).toBe(true);
  // What the other server said came as events of the same reply, and none of both.
  expect(first.events.length).toBeGreaterThan(0);
  expect(first.events.every(({ server }) => server === 'two')).toBe(true);
  const second = await hub.call('get_notifications');
  expect(second.body['notifications']).toEqual([]);
  expect(second.events).toEqual([]);
  const ring = await notifications(hub, { server: 'one', include_delivered: true });
  expect(uris(ring)).toEqual(uris(own));
});

test('E-3: logs are returned only by get_logs, with filters', async () => {
  const { hub } = await setup();
  const replies = [
    await log(hub, 'one', 'debug', 2),
    await log(hub, 'one', 'error', 3),
    await log(hub, 'two', 'warning', 1),
  ];
  for (const { events } of replies) expect(events).toEqual([]);

  const entries = await logs(hub);
  expect(entries).toHaveLength(6);
  expect(entries[0]).toMatchObject({
    server: 'one',
    level: 'debug',
    source: 'protocol',
    logger: 'test',
    data: { n: 0 },
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  });
  expect(await logs(hub, { server: 'two' })).toHaveLength(1);
  expect(await logs(hub, { level: 'warning' })).toHaveLength(4);
  expect((await logs(hub, { level: 'error' })).every(({ level }) => level === 'error')).toBe(true);
  expect((await logs(hub, { server: 'one', limit: 2 })).map(({ data }) => data)).toEqual([{ n: 1 }, { n: 2 }]);
  expect(await logs(hub, { source: 'stderr' })).toEqual([]);
  // Reading takes nothing away.
  expect(await logs(hub)).toHaveLength(6);
});

test('E-3, B-4: standard error of a command server appears as logs with the source stderr', async () => {
  const { url } = await httpGateway({ child: v1Stdio() });
  const hub = await hubOverHttp(url);
  await hub.call('execute_tool', { server: 'child', tool: 'stderr', args: { bytes: 10 } });
  await log(hub, 'child', 'info', 1);
  // The line has no end yet; the child's death ends it.
  await hub.call('execute_tool', { server: 'child', tool: 'crash' });
  await expect
    .poll(() => logs(hub, { source: 'stderr' }))
    .toEqual([expect.objectContaining({ server: 'child', source: 'stderr', data: 'eeeeeeeeee' })]);
  expect(await logs(hub, { source: 'protocol' })).toHaveLength(1);
});

test('E-3, H-7: await_activity wakes for a notification and not for a log', async () => {
  const { hub, session, one } = await setup();
  await heard(one, session, 'one');
  await hub.call('get_notifications');
  const waiting = hub.call('await_activity', { timeout_ms: 20_000 });
  await expect.poll(() => session.events.counts.waiters).toBe(1);
  for (const { server } of one.state.sessions) await server.sendLoggingMessage({ level: 'error', data: 'unasked' });
  await expect.poll(() => session.connections.logs('one').length).toBe(1);
  expect(session.events.counts.waiters).toBe(1);
  await say(one, 'test://wake');
  const { body } = await waiting;
  expect(body['triggers']).toEqual([{ type: 'event', server: 'one', eventType: 'notification' }]);
});

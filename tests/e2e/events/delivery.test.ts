import { expect, test } from 'vitest';
import type { Session } from '../../../src/core/session/session.ts';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind, type HubClient, type HubEvent, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { modernCall, modernHeaders, post, postAndLeave, rawSession, toolCall } from '../../support/raw-http.ts';
import { heard, sayAll } from '../../support/unasked.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];

/** More than the buffers between two sockets hold, so that a client that does not read keeps the reply from ending. */
const HUGE = 12_000_000;

interface Setup {
  server: V1Http;
  gateway: TestGateway;
}

async function setup(): Promise<Setup> {
  const server = owned(await startV1Http());
  return { server, gateway: await httpGateway({ one: { url: server.url } }) };
}

function onlySession({ gateway }: TestGateway): Session {
  const [session, ...others] = gateway.sessions;
  if (session === undefined || others.length > 0) throw new Error(`${gateway.sessions.length} sessions`);
  return session;
}

async function quietClient(kind: ClientKind): Promise<Setup & { hub: HubClient; session: Session }> {
  const { server, gateway } = await setup();
  const hub = await hubOverHttp(gateway.url, kind);
  await hub.call('list_tools');
  const session = onlySession(gateway);
  await heard(server, session, 'one');
  await hub.call('get_notifications');
  return { server, gateway, hub, session };
}

const uriOf = ({ data }: HubEvent): unknown => (data['params'] as Json | undefined)?.['uri'];

test.each(KINDS)('E-1: each event comes once and in order, with the next reply of any tool (%s)', async (kind) => {
  const { server, hub, session } = await quietClient(kind);
  const uris = Array.from({ length: 30 }, (_, index) => `test://n/${index}`);
  await sayAll(server, session, 'one', uris);
  const { events } = await hub.call('list_servers');
  expect(events.map(uriOf)).toEqual(uris);
  const ids = events.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted());
  expect(events[0]).toMatchObject({ type: 'notification', server: 'one', createdAt: expect.stringMatching(/Z$/) });
  expect((await hub.call('list_servers')).events).toEqual([]);
});

test('E-1, H-7: await_activity repeats only the events after a cursor', async () => {
  const { server, hub, session } = await quietClient('v1');
  await sayAll(server, session, 'one', ['test://1', 'test://2', 'test://3']);
  const { events } = await hub.call('list_servers');
  const again = await hub.call('await_activity', { timeout_ms: 0, last_event_id: events[0]?.id });
  const [group] = again.body['events'] as { server: string; events: HubEvent[] }[];
  expect(group?.events.map(uriOf)).toEqual(['test://2', 'test://3']);
  expect(again.body['lastEventId']).toBe(events[2]?.id);
});

test('E-1: a client whose connection closes during await_activity loses no event', async () => {
  const { server, gateway } = await setup();
  const client = await rawSession(gateway.url);
  await client.reply('list_tools');
  const session = onlySession(gateway);
  await heard(server, session, 'one');
  await client.reply('get_notifications');
  const leaving = postAndLeave(gateway.url, toolCall('await_activity', { timeout_ms: 60_000 }), client.headers);
  await expect.poll(() => session.events.counts.waiters).toBe(1);
  leaving.destroy();
  await expect.poll(() => session.events.counts.waiters).toBe(0);
  await sayAll(server, session, 'one', ['test://missed']);
  expect((await client.reply('list_tasks')).events.map(uriOf)).toEqual(['test://missed']);
});

test('E-1: a modern client whose connection closes during await_activity loses no event', async () => {
  const { server, gateway, hub, session } = await quietClient('modern');
  await post(gateway.url, modernCall('list_servers', {}, 999, 'test'), modernHeaders('list_servers'));
  const leaving = postAndLeave(
    gateway.url,
    modernCall('await_activity', { timeout_ms: 60_000 }, 1000, 'test'),
    modernHeaders('await_activity'),
  );
  await expect.poll(() => session.events.counts.waiters).toBe(1);
  leaving.destroy();
  await expect.poll(() => session.events.counts.waiters).toBe(0);
  await sayAll(server, session, 'one', ['test://missed']);
  expect((await hub.call('list_tasks')).events.map(uriOf)).toEqual(['test://missed']);
});

test.each(KINDS)('E-1: a client that cancels await_activity loses no event (%s)', async (kind) => {
  const { server, hub, session } = await quietClient(kind);
  const cancel = new AbortController();
  const waiting = hub.call('await_activity', { timeout_ms: 60_000 }, { signal: cancel.signal });
  const refused = expect(waiting).rejects.toThrow('enough');
  await expect.poll(() => session.events.counts.waiters).toBe(1);
  cancel.abort(new Error('enough'));
  await refused;
  await expect.poll(() => session.events.counts.waiters).toBe(0);
  await sayAll(server, session, 'one', ['test://missed']);
  const { body } = await hub.call('await_activity', { timeout_ms: 0 });
  expect(body['triggers']).toEqual([{ type: 'immediate' }]);
  const [group] = body['events'] as { events: HubEvent[] }[];
  expect(group?.events.map(uriOf)).toEqual(['test://missed']);
});

test('E-1: events of a reply that was cut off come again with the next reply', async () => {
  const { server, gateway } = await setup();
  const client = await rawSession(gateway.url);
  await client.reply('list_tools');
  const session = onlySession(gateway);
  await heard(server, session, 'one');
  const call = toolCall('execute_tool', { server: 'one', tool: 'big', args: { bytes: HUGE } });
  const leaving = postAndLeave(gateway.url, call, client.headers);
  await brokenOff(session, leaving);
  const reply = await client.reply('list_tasks');
  expect(reply.events.map(uriOf)).toContain('test://mark/last');
  expect((await client.reply('list_tasks')).events).toEqual([]);
});

test('E-1: events of a reply to a modern client that was cut off come again with the next reply', async () => {
  const { server, gateway } = await setup();
  const hub = await hubOverHttp(gateway.url, 'modern');
  await hub.call('list_tools');
  const session = onlySession(gateway);
  await heard(server, session, 'one');
  const call = modernCall('execute_tool', { server: 'one', tool: 'big', args: { bytes: HUGE } }, 1000, 'test');
  const leaving = postAndLeave(gateway.url, call, modernHeaders('execute_tool'));
  await brokenOff(session, leaving);
  expect((await hub.call('list_tasks')).events.map(uriOf)).toContain('test://mark/last');
});

test('E-1, H-7: when another reply is cut off, a waiting await_activity gets its events at once', async () => {
  const { server, gateway } = await setup();
  const client = await rawSession(gateway.url);
  await client.reply('list_tools');
  const session = onlySession(gateway);
  await heard(server, session, 'one');
  const call = toolCall('execute_tool', { server: 'one', tool: 'big', args: { bytes: HUGE } });
  const leaving = postAndLeave(gateway.url, call, client.headers);
  await expect.poll(() => session.events.counts.new, { timeout: 10_000 }).toBe(0);
  const waiting = client.reply('await_activity', { timeout_ms: 60_000 });
  await expect.poll(() => session.events.counts.waiters).toBe(1);
  leaving.destroy();
  const { body } = await waiting;
  const [group] = body['events'] as { events: HubEvent[] }[];
  expect(group?.events.map(uriOf)).toContain('test://mark/last');
});

/** Breaks the connection when the reply has taken the events and could not be written to its end. */
async function brokenOff(session: Session, leaving: { destroy(): unknown }): Promise<void> {
  await expect.poll(() => session.events.counts.new, { timeout: 10_000 }).toBe(0);
  expect(session.events.counts.undelivered).toBeGreaterThan(0);
  leaving.destroy();
  await expect.poll(() => session.events.counts.new, { timeout: 10_000 }).toBeGreaterThan(0);
}

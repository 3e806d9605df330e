/** Windows of one program without protocol sessions: they share their state, and each of them gets every event. */
import { expect, test } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient, type HubEvent, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { modernCall, modernHeaders, post, replyOf } from '../../support/raw-http.ts';
import { heard, sayAll } from '../../support/unasked.ts';
import { activityOf, awaitActivity, flat, settle, soon } from '../flows/watch.ts';

interface Setup {
  server: V1Http;
  gateway: TestGateway;
  a: HubClient;
  b: HubClient;
}

/** Two windows that have used the gateway as often as each other, or not. */
async function twoWindows({ ahead = 0 } = {}): Promise<Setup> {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } });
  const a = await hubOverHttp(gateway.url, 'modern');
  const b = await hubOverHttp(gateway.url, 'modern');
  await settle(a);
  await settle(b);
  for (let count = 0; count < ahead; count += 1) await a.call('list_servers');
  const [session] = gateway.gateway.sessions;
  if (session === undefined) throw new Error('no session');
  await heard(server, session, 'one');
  for (const window of [a, b]) await window.call('get_notifications', {});
  return { server, gateway, a, b };
}

const uriOf = ({ data }: HubEvent): unknown => (data['params'] as Json | undefined)?.['uri'];
const types = (events: HubEvent[]): string[] => events.map(({ type }) => type);

async function announce({ server, gateway }: Setup, ...uris: string[]): Promise<void> {
  const [session] = gateway.gateway.sessions;
  if (session === undefined) throw new Error('no session');
  await sayAll(server, session, 'one', uris);
}

test.each([0, 1, 5])(
  'S-5, E-1: each window gets task_completed, although another window got it first (%i calls ahead)',
  async (ahead) => {
    const { gateway, a, b } = await twoWindows({ ahead });
    const slow = { server: 'one', tool: 'slow', args: { ms: 50, text: 'done' }, timeout_ms: 5 };
    const task = taskIdOf(await a.call('execute_tool', slow));
    await soon(() => gateway.gateway.sessions[0]?.tasks.find(task)?.status).toBe('completed');
    expect(types((await b.call('list_servers')).events)).toContain('task_completed');
    const activity = await awaitActivity(a, { timeout_ms: 30_000 });
    expect(activity.triggers).toEqual([{ type: 'immediate' }]);
    expect(flat(activity).map(({ type, data }) => [type, data['taskId']])).toContainEqual(['task_completed', task]);
  },
);

test('S-5, E-1: each window gets each event once and in order, with alternating replies', async () => {
  const setup = await twoWindows({ ahead: 2 });
  const { a, b } = setup;
  const got = { a: [] as unknown[], b: [] as unknown[] };
  const ask = async (name: 'a' | 'b'): Promise<void> => {
    const { events } = await (name === 'a' ? a : b).call('list_servers');
    got[name].push(...events.map(uriOf));
  };
  await announce(setup, 'test://1');
  await ask('a');
  await announce(setup, 'test://2', 'test://3');
  await ask('b');
  await ask('b');
  await announce(setup, 'test://4');
  await ask('a');
  await ask('a');
  await ask('b');
  await ask('a');
  const all = ['test://1', 'test://2', 'test://3', 'test://4'];
  expect(got).toEqual({ a: all, b: all });
});

test('S-5, E-4: windows that wait at the same time all get an event', async () => {
  const setup = await twoWindows();
  const waiting = [setup.a, setup.b].map((window) => awaitActivity(window, { timeout_ms: 30_000 }));
  await soon(() => setup.gateway.gateway.sessions[0]?.events.counts.waiters).toBe(2);
  await announce(setup, 'test://now');
  for (const activity of await Promise.all(waiting)) {
    expect(activity.triggers).toEqual([{ type: 'event', server: 'one', eventType: 'notification' }]);
    expect(flat(activity).map(uriOf)).toEqual(['test://now']);
  }
});

test('S-5, H-7: a cursor is exact, whichever window got the events first', async () => {
  const setup = await twoWindows();
  await announce(setup, 'test://1');
  const { lastEventId } = await awaitActivity(setup.a);
  await announce(setup, 'test://2');
  await setup.b.call('list_servers');
  const next = await awaitActivity(setup.a, { last_event_id: lastEventId });
  expect(flat(next).map(uriOf)).toEqual(['test://2']);
  expect((await setup.a.call('list_servers')).events).toEqual([]);
});

test('S-5, E-3: get_notifications of one window does not hide notifications from another', async () => {
  const setup = await twoWindows();
  await announce(setup, 'test://1');
  const uris = ({ body }: Reply): unknown[] =>
    (body['notifications'] as { params: Json }[]).map(({ params }) => params['uri']);
  expect(uris(await setup.a.call('get_notifications'))).toEqual(['test://1']);
  expect(uris(await setup.b.call('get_notifications'))).toEqual(['test://1']);
  expect(uris(await setup.b.call('get_notifications'))).toEqual([]);
});

/** A window that opens a connection for each request, as most clients do when they pause. */
function rawWindow(url: string, first = 0): { reply: (tool: string, args?: Json) => Promise<Reply> } {
  let next = first;
  return {
    reply: async (tool, args = {}) => {
      const message = modernCall(tool, args, next);
      next += 1;
      return replyOf(await post(url, message, modernHeaders(tool)));
    },
  };
}

test('S-5, E-1: a window with one connection per request gets each event once', async () => {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } });
  const window = rawWindow(gateway.url);
  await window.reply('list_tools');
  const [session] = gateway.gateway.sessions;
  if (session === undefined) throw new Error('no session');
  await heard(server, session, 'one');
  await window.reply('get_notifications');
  await sayAll(server, session, 'one', ['test://1', 'test://2']);
  expect((await window.reply('list_servers')).events.map(uriOf)).toEqual(['test://1', 'test://2']);
  for (let count = 0; count < 5; count += 1) expect((await window.reply('list_servers')).events).toEqual([]);
});

test('S-5: a window that the gateway cannot identify gets recent events again, marked maybeSeen', async () => {
  const setup = await twoWindows({ ahead: 3 });
  await announce(setup, 'test://1');
  const unknown = modernCall('list_servers', {}, 'no-number', 'test');
  expect((await setup.a.call('list_servers')).events.map(uriOf)).toEqual(['test://1']);
  const { events } = replyOf(await post(setup.gateway.url, unknown, modernHeaders('list_servers')));
  expect(events.find((event) => uriOf(event) === 'test://1')).toMatchObject({ maybeSeen: true });
  const { events: others } = await setup.b.call('list_servers');
  expect(others.map((event) => [uriOf(event), event.maybeSeen])).toEqual([['test://1', undefined]]);
});

/** A client that is started for each request: it begins to count anew, on a connection of its own. */
const oneShot = async (url: string, tool: string, args: Json = {}): Promise<Reply> =>
  replyOf(await post(url, modernCall(tool, args, 1, 'test'), modernHeaders(tool)));

async function withOneShots(): Promise<Setup> {
  const setup = await twoWindows({ ahead: 3 });
  await oneShot(setup.gateway.url, 'list_servers');
  return setup;
}

test('S-5, H-7: await_activity waits for a client with a new identity per request', async () => {
  const setup = await withOneShots();
  const { url } = setup.gateway;
  await announce(setup, 'test://1');
  const first = activityOf(await oneShot(url, 'await_activity', { timeout_ms: 30_000 }));
  expect(first.triggers).toEqual([{ type: 'immediate' }]);
  expect(flat(first).map(uriOf)).toContain('test://1');
  const waiting = oneShot(url, 'await_activity', { timeout_ms: 30_000 });
  await soon(() => setup.gateway.gateway.sessions[0]?.events.counts.waiters).toBe(1);
  await announce(setup, 'test://2');
  const second = activityOf(await waiting);
  expect(second.triggers).toEqual([{ type: 'event', server: 'one', eventType: 'notification' }]);
  expect(flat(second).map((event) => [uriOf(event), event.maybeSeen])).toEqual(
    expect.arrayContaining([
      ['test://1', true],
      ['test://2', undefined],
    ]),
  );
});

test('S-5, E-1: clients with a new identity per request neither take nor repeat events of a window', async () => {
  const setup = await withOneShots();
  await announce(setup, 'test://1');
  expect((await setup.a.call('list_servers')).events.map(uriOf)).toEqual(['test://1']);
  for (let count = 0; count < 40; count += 1) {
    expect((await oneShot(setup.gateway.url, 'list_servers')).events.map(uriOf)).toContain('test://1');
    if (count % 10 === 0) expect((await setup.a.call('list_servers')).events).toEqual([]);
  }
  // This one has not asked anything for long, and counts as far as the others.
  expect((await setup.b.call('list_servers')).events.map(uriOf)).toContain('test://1');
  expect((await setup.b.call('list_servers')).events).toEqual([]);
});

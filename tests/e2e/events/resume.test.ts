import { expect, test } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { takeApart, taskIdOf, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import {
  errorOf,
  firstEvents,
  openStream,
  post,
  rawSession,
  send,
  toolCall,
  type RawSession,
  type RawStream,
  type StreamEvent,
} from '../../support/raw-http.ts';

async function setup(): Promise<{ gateway: TestGateway; url: string; client: RawSession; server: V1Http }> {
  const server = owned(await startV1Http());
  const gateway = await httpGateway({ one: { url: server.url } });
  const client = await rawSession(gateway.url);
  await client.reply('list_tools');
  return { gateway, url: gateway.url, client, server };
}

/** A call that is slow enough to be answered with a stream. */
function postSlow(url: string, client: RawSession, id: number, ms = 60_000): Promise<RawStream> {
  const body = JSON.stringify(
    toolCall('execute_tool', { server: 'one', tool: 'slow', args: { ms, text: 'late' } }, id),
  );
  return openStream(url, { method: 'POST', headers: client.headers, body });
}

function resume(url: string, client: RawSession, lastEventId: string): Promise<RawStream> {
  return openStream(url, { headers: { ...client.headers, 'last-event-id': lastEventId } });
}

/** Without the event that a stream begins with, which has no content. */
function messagesOf({ events }: RawStream): StreamEvent[] {
  return events.filter(({ data }) => data !== '');
}

async function firstMessages(stream: RawStream, count: number): Promise<StreamEvent[]> {
  await expect.poll(() => messagesOf(stream).length).toBeGreaterThanOrEqual(count);
  return messagesOf(stream).slice(0, count);
}

function replyIn(data: string): { id: unknown; reply: Reply } {
  const { id, result } = JSON.parse(data) as { id: unknown; result: Json };
  return { id, reply: takeApart(result) };
}

test('E-5: the stream of a slow call begins with an event id for resuming', async () => {
  const { url, client } = await setup();
  const stream = await postSlow(url, client, 7, 600);
  expect(stream.headers['content-type']).toBe('text/event-stream');
  expect(stream.headers['mcp-session-id']).toBe(client.id);
  const [first, second] = await firstEvents(stream, 2);
  expect(first?.data).toBe('');
  expect(first?.id).toMatch(/.+/);
  const { id, reply } = replyIn(second?.data ?? '');
  expect(id).toBe(7);
  expect(reply.text).toBe('late');
  await stream.ended;
});

test('E-5, T-4: a broken stream is resumed with Last-Event-ID and brings the reply', async () => {
  const { url, client, server } = await setup();
  const broken = await postSlow(url, client, 7, 1000);
  const [first] = await firstEvents(broken, 1);
  broken.destroy();
  const resumed = await resume(url, client, first?.id ?? '');
  expect(resumed.status).toBe(200);
  const [event] = await firstMessages(resumed, 1);
  expect(replyIn(event?.data ?? '')).toMatchObject({ id: 7, reply: { text: 'late' } });
  await resumed.ended;
  expect(server.state.calls).toHaveLength(1);
  // That the call was a task for a moment is no news to a client that has the result.
  expect((await client.reply('list_servers')).events).toEqual([]);

  // At least once: the same can be asked for again, and after the last event there is nothing.
  const again = await resume(url, client, first?.id ?? '');
  expect((await firstMessages(again, 1))[0]).toEqual(event);
  const nothing = await resume(url, client, event?.id ?? '');
  await nothing.ended;
  expect(nothing.events).toEqual([]);
});

test('E-5, K-3: a resumed stream can be resumed again with its own first event id', async () => {
  const { url, client } = await setup();
  let stream = await postSlow(url, client, 7, 1000);
  for (let times = 0; times < 3; times += 1) {
    const [{ id = '' } = {}] = await firstEvents(stream, 1);
    stream.destroy();
    stream = await resume(url, client, id);
  }
  const [event] = await firstMessages(stream, 1);
  expect(replyIn(event?.data ?? '')).toMatchObject({ id: 7, reply: { text: 'late' } });
});

test('E-5, T-4: a client that was away when its call ended gets the result when it resumes', async () => {
  const { gateway, url, client } = await setup();
  const broken = await postSlow(url, client, 7, 1000);
  const [first] = await firstEvents(broken, 1);
  broken.destroy();
  const [session] = gateway.gateway.sessions;
  await expect.poll(() => session?.tasks.list()).toMatchObject([{ status: 'completed' }]);
  const resumed = await resume(url, client, first?.id ?? '');
  const [event] = await firstMessages(resumed, 1);
  expect(replyIn(event?.data ?? '')).toMatchObject({ id: 7, reply: { text: 'late' } });
});

test('T-4, E-5: a client that does not resume gets an event about the task, which has the result', async () => {
  const { gateway, url, client } = await setup();
  const broken = await postSlow(url, client, 7, 1000);
  await firstEvents(broken, 1);
  broken.destroy();
  await expect.poll(() => gateway.gateway.sessions[0]?.tasks.list()).toHaveLength(1);
  const { events } = await client.reply('list_servers');
  expect(events.map(({ type }) => type)).toEqual(['task_created']);
  expect((await client.reply('get_task_result', { task_id: events[0]?.data['taskId'] })).text).toBe('late');
});

test('E-5, T-4: a call that fails after its stream was resumed is reported as failed', async () => {
  const { url, client, server } = await setup();
  const broken = await postSlow(url, client, 7, 60_000);
  const [first] = await firstEvents(broken, 1);
  broken.destroy();
  const resumed = await resume(url, client, first?.id ?? '');
  await server.close();
  const [event] = await firstMessages(resumed, 1);
  expect(replyIn(event?.data ?? '')).toMatchObject({ id: 7, reply: { isError: true } });
});

test('E-5, H-3: a resumed call becomes a task when it times out or asks a question', async () => {
  const { url, client } = await setup();
  const call = async (id: number, args: Json): Promise<Reply> => {
    const body = JSON.stringify(toolCall('execute_tool', { server: 'one', ...args }, id));
    const broken = await openStream(url, { method: 'POST', headers: client.headers, body });
    const [first] = await firstEvents(broken, 1);
    broken.destroy();
    const resumed = await resume(url, client, first?.id ?? '');
    const [event] = await firstMessages(resumed, 1);
    return replyIn(event?.data ?? '').reply;
  };
  const late = await call(7, { tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1500 });
  expect(late.text).toMatch(/^Tool call exceeded timeout \(1500ms\)\. Promoted to task/);
  await client.reply('cancel_task', { task_id: taskIdOf(late) });
  const asking = await call(8, { tool: 'ask', args: { ms: 1000 } });
  expect(asking.text).toMatch(/^The call needs input/);
  expect(asking.elicitations).toMatchObject([{ taskId: taskIdOf(asking) }]);
});

test('E-5, T-7: a resumed call reports progress and can be cancelled', async () => {
  const { url, client, server } = await setup();
  const call = client.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000, steps: 300 } }, 7);
  const params = { ...(call['params'] as Json), _meta: { progressToken: 'p' } };
  const body = JSON.stringify({ ...call, params });
  const broken = await openStream(url, { method: 'POST', headers: client.headers, body });
  const [first] = await firstEvents(broken, 1);
  broken.destroy();
  const resumed = await resume(url, client, first?.id ?? '');
  const told = await firstMessages(resumed, 3);
  expect(told.every(({ data }) => data.includes('notifications/progress'))).toBe(true);
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, reason: 'enough' } };
  await post(url, cancel, client.headers);
  await expect.poll(() => server.state.cancelled).toHaveLength(1);
});

test('E-5, H-6: get_task_result continues when its stream is resumed', async () => {
  const { url, client } = await setup();
  const args = { server: 'one', tool: 'slow', args: { ms: 1500, text: 'late' }, timeout_ms: 50 };
  const task_id = taskIdOf(await client.reply('execute_tool', args));
  const body = JSON.stringify(toolCall('get_task_result', { task_id }, 8));
  const broken = await openStream(url, { method: 'POST', headers: client.headers, body });
  const [first] = await firstEvents(broken, 1);
  broken.destroy();
  const resumed = await resume(url, client, first?.id ?? '');
  const [event] = await firstMessages(resumed, 1);
  expect(replyIn(event?.data ?? '')).toMatchObject({ id: 8, reply: { text: 'late' } });
});

test('E-5: resuming an open stream takes it over: missed events first, then new ones', async () => {
  const { url, client } = await setup();
  const call = client.call(
    'execute_tool',
    { server: 'one', tool: 'slow', args: { ms: 2000, steps: 4, text: 'done' } },
    7,
  );
  const params = { ...(call['params'] as Json), _meta: { progressToken: 'p' } };
  const body = JSON.stringify({ ...call, params });
  // This connection is not closed: to the gateway it looks alive when the client comes back on another one.
  const old = await openStream(url, { method: 'POST', headers: client.headers, body });
  const [primed, missed] = await firstEvents(old, 2);
  expect(missed?.data).toContain('notifications/progress');
  const taken = await resume(url, client, primed?.id ?? '');
  await taken.ended;
  await old.ended;
  expect(taken.events[0]).toEqual(missed);
  expect(replyIn(taken.events.at(-1)?.data ?? '')).toMatchObject({ id: 7, reply: { text: 'done' } });
  expect(old.events.some(({ data }) => data.includes('"result"'))).toBe(false);
});

test('E-5: each of two broken streams is resumed separately', async () => {
  const { url, client } = await setup();
  const one = await postSlow(url, client, 21, 1000);
  const two = await postSlow(url, client, 22, 1000);
  const [firstOfOne] = await firstEvents(one, 1);
  const [firstOfTwo] = await firstEvents(two, 1);
  one.destroy();
  two.destroy();
  const resumedTwo = await resume(url, client, firstOfTwo?.id ?? '');
  const resumedOne = await resume(url, client, firstOfOne?.id ?? '');
  await Promise.all([resumedOne.ended, resumedTwo.ended]);
  expect(messagesOf(resumedOne).map(({ data }) => replyIn(data).id)).toEqual([21]);
  expect(messagesOf(resumedTwo).map(({ data }) => replyIn(data).id)).toEqual([22]);
});

test('E-5, S-1: an event id of another session or an unknown one is refused', async () => {
  const { url, client } = await setup();
  const other = await rawSession(url);
  await other.reply('list_tools');
  const broken = await postSlow(url, client, 7);
  const [first] = await firstEvents(broken, 1);
  // The other session has events of its own, so that the number alone would fit.
  const own = await postSlow(url, other, 7);
  await firstEvents(own, 1);
  for (const lastEventId of [first?.id ?? '', 'made-up~1', 'no number', '~1', '__proto__']) {
    const answer = await send(url, { method: 'GET', headers: { ...other.headers, 'last-event-id': lastEventId } });
    expect(answer.status, lastEventId).toBe(400);
    expect(errorOf(answer).message).toContain('Last-Event-ID');
  }
});

test('E-5: closing a GET stream does not end the session', async () => {
  const { gateway, url, client } = await setup();
  const standing = await openStream(url, { headers: client.headers });
  expect(standing.status).toBe(200);
  await firstEvents(standing, 1);
  expect(gateway.listener.counts.sessions).toBe(1);
  standing.destroy();
  const again = await openStream(url, { headers: client.headers });
  expect(again.status).toBe(200);
  // Nothing was said on it yet, and still the answer begins at once.
  const asked = Date.now();
  const resumed = await resume(url, client, standing.events[0]?.id ?? '');
  expect(resumed.status).toBe(200);
  expect(Date.now() - asked).toBeLessThan(10_000);
  resumed.destroy();
  again.destroy();
  expect((await client.reply('list_servers')).body['servers']).toHaveLength(1);
  expect(gateway.listener.counts.sessions).toBe(1);
});

test('E-5: DELETE ends the session', async () => {
  const { url, client } = await setup();
  const standing = await openStream(url, { headers: client.headers });
  const ended = await send(url, { method: 'DELETE', headers: client.headers });
  expect(ended.status).toBe(200);
  await standing.ended;
  const later = await post(url, toolCall('list_tasks'), client.headers);
  expect(later.status).toBe(404);
  expect((await send(url, { method: 'GET', headers: client.headers })).status).toBe(404);
});

test('E-1, E-5: resuming a stream neither repeats nor loses an event', async () => {
  const { gateway, url, client } = await setup();
  const [session] = gateway.gateway.sessions;
  const body = JSON.stringify(toolCall('await_activity', { timeout_ms: 60_000 }, 31));
  const broken = await openStream(url, { method: 'POST', headers: client.headers, body });
  const [first] = await firstEvents(broken, 1);
  broken.destroy();
  await expect.poll(() => session?.events.counts.waiters).toBe(0);
  session?.events.add('server_added', 'mark', {});
  const resumed = await resume(url, client, first?.id ?? '');
  const [event] = await firstMessages(resumed, 1);
  expect(replyIn(event?.data ?? '').reply.body['events']).toEqual([]);
  const next = await client.reply('list_tasks');
  expect(next.events.map(({ type }) => type)).toEqual(['server_added']);
});

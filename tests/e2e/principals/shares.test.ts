import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { errorOf, INITIALIZE, post, rawSession, send } from '../../support/raw-http.ts';
import { echo } from '../servers/activity.ts';
import { ADA, BEN, TOKENS, twoHubs } from './two-hubs.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];

const slow = (more: Json = {}): Json => ({ server: 'one', tool: 'slow', args: { ms: 600_000 }, ...more });

test.each(KINDS)('X-3, X-2: one principal cannot use all sessions (%s)', async (kind) => {
  const { url } = await httpGateway({}, { auth: { tokens: TOKENS }, sessions: { max: 4 } });
  const mine = [await rawSession(url, ADA), await rawSession(url, ADA), await rawSession(url, ADA)];
  const refused = await post(url, INITIALIZE, ADA);
  expect(refused.status).toBe(429);
  expect(errorOf(refused).message).toContain("3 sessions of 'ada' are open");
  expect(errorOf(refused).message).toContain('limits.principalShare');
  expect((await (await hubOverHttp(url, kind, BEN)).call('list_servers')).isError).toBe(false);
  expect(errorOf(await post(url, INITIALIZE, BEN)).message).toContain('4 sessions are open (limit sessions.max = 4)');
  await send(url, { method: 'DELETE', headers: mine[0]?.headers ?? {} });
  await rawSession(url, BEN);
});

test.each(KINDS)('X-3, X-2: one principal cannot use all open calls (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { ada, ben } = await twoHubs({ one: { url: server.url } }, kind, { limits: { requests: 4 } });
  await Promise.all([echo(ada, 'one'), echo(ben, 'one')]);
  const calls = Array.from({ length: 6 }, () => ada.call('execute_tool', slow({ timeout_ms: 3000 })));
  await expect.poll(() => server.state.calls.filter(({ tool }) => tool === 'slow').length).toBe(3);
  expect(await echo(ben, 'one', 'still served')).toBe('still served');
  const replies = await Promise.all(calls);
  const refused = replies.filter(({ code }) => code === 'TOOL_ERR_LIMIT');
  expect(refused).toHaveLength(3);
  // Which of the two depends on whether the other principal had a request open at that moment.
  for (const { text } of refused) expect(text).toMatch(/3 requests of 'ada' are open|limit limits\.requests = 4/);
  // They are tasks now, and their requests are over.
  expect(replies.filter(({ code }) => code === undefined).map(taskIdOf)).toHaveLength(3);
  expect(await echo(ada, 'one', 'again')).toBe('again');
});

test.each(KINDS)('X-3, X-2, T-2: one principal cannot use all tasks (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { ada, ben } = await twoHubs({ one: { url: server.url } }, kind, { tasks: { perSession: 4, max: 4 } });
  const start = async (): Promise<string> => taskIdOf(await ada.call('execute_tool', slow({ timeout_ms: 1 })));
  const tasks = [await start(), await start(), await start()];
  const refused = await ada.call('execute_tool', slow());
  expect(refused.code).toBe('TOOL_ERR_LIMIT');
  expect(refused.text).toContain("3 tasks of 'ada' are running");
  await expect.poll(() => server.state.calls.length).toBe(3);
  const his = taskIdOf(await ben.call('execute_tool', slow({ timeout_ms: 1 })));
  expect((await ben.call('execute_tool', slow())).text).toContain('4 tasks are running (limit tasks.max = 4)');
  await ada.call('cancel_task', { task_id: tasks[0] });
  expect(await echo(ben, 'one', 'now')).toBe('now');
  expect((await ben.call('get_task', { task_id: his })).isError).toBe(false);
});

test('X-3: the tasks of an ended session do not count against the limit', async () => {
  const server = owned(await startV1Http());
  const settings = { tasks: { perSession: 2, max: 2 } };
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const first = await rawSession(url);
  await first.reply('execute_tool', slow({ timeout_ms: 1 }));
  await first.reply('execute_tool', slow({ timeout_ms: 1 }));
  const second = await hubOverHttp(url);
  expect((await second.call('execute_tool', slow())).text).toContain('limit tasks.max = 2');
  await send(url, { method: 'DELETE', headers: first.headers });
  expect(await echo(second, 'one', 'room')).toBe('room');
});

test.each(KINDS)('X-3, X-2, E-2: the events of one principal do not evict those of another (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const events = { total: 20, perSession: 20 };
  const { running, ada, ben } = await twoHubs({ one: { url: server.url } }, kind, { events });
  await Promise.all([ada, ben].map((hub) => hub.call('list_tools')));
  const fill = (principal: string, count: number): void => {
    const session = running.gateway.sessions.find((each) => each.principal === principal);
    for (let n = 0; n < count; n += 1) session?.events.add('notification', 'one', { method: 'test', params: { n } });
  };
  fill('ada', 30);
  fill('ben', 5);
  const reply = await ben.call('list_tasks');
  expect(reply.events.map(({ type, data }) => [type, data['params']])).toEqual(
    [0, 1, 2, 3, 4].map((n) => ['notification', { n }]),
  );
});

test('X-3, X-2: large requests of one principal leave room for those of another', async () => {
  const server = owned(await startV1Http());
  const limits = { totalBytes: 8 * 2 ** 20 };
  const { ada, ben } = await twoHubs({ one: { url: server.url } }, 'v1', { limits });
  await Promise.all([echo(ada, 'one'), echo(ben, 'one')]);
  const large = { server: 'one', tool: 'slow', args: { ms: 600_000, text: 'x'.repeat(2.9 * 2 ** 20) } };
  const left = new AbortController();
  const held = ada.call('execute_tool', large, { signal: left.signal }).catch(() => {});
  await expect.poll(() => server.state.calls.filter(({ tool }) => tool === 'slow').length).toBe(1);
  const text = 'y'.repeat(2 ** 19);
  expect((await echo(ben, 'one', text)).length).toBe(text.length);
  left.abort();
  await held;
});

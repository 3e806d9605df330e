/** One stream tells of everything, and goes on where it was interrupted. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { atConsole, codeOf, ConsolePerson, raw, withToken } from '../../support/console.ts';
import { configFile, httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { portToReturnTo } from '../../support/port-to-return-to.ts';
import { serveProgram } from '../../support/program.ts';
import { COOKIE_MS } from '../../../src/north/console/cookie.ts';
import { TestClock } from '../../support/test-clock.ts';
import { readLaunch, type Launch } from '../../../src/cli/launch-file.ts';
import { ANN, BOB, OLA, PEOPLE, servers, setup } from './setup.ts';

test('W-6: the event stream reports calls, questions, servers and sessions', async () => {
  const { gateway, hub, person } = await setup({ servers: { connect: { urls: 'lazy' } } });
  const events = await person.events();
  expect(events.events[0]).toMatchObject({ event: 'hello', id: expect.any(String), data: { seq: expect.any(Number) } });
  await hub.call('execute_tool', { server: 'old', tool: 'ask', args: { message: 'Who?' } });
  const question = await events.next('question');
  expect(question).toMatchObject({ status: 'open', message: 'Who?' });
  expect(question).not.toHaveProperty('params');
  const call = await events.next('call', ({ status }) => status === 'waiting');
  expect(call).toMatchObject({ id: question['callId'] });
  expect(call).not.toHaveProperty('arguments');
  expect(await events.next('server', ({ state }) => state === 'connected')).toMatchObject({ name: 'old', sessions: 1 });
  const newcomer = await hubOverHttp(gateway.url, 'v1', {}, 'newcomer');
  const session = await events.next('session', ({ program }) => program === 'newcomer');
  expect(session).toMatchObject({ view: 'hub', id: newcomer.sessionId() });
  const left = gateway.gateway.sessions.find(({ id }) => id === session['id']);
  if (left !== undefined) await gateway.gateway.end(left, 'the client has left');
  expect(await events.next('session', ({ gone }) => gone === true)).toEqual({ id: session['id'], gone: true });
  await person.post(`/questions/${String(question['id'])}/answer`, { action: 'accept', content: { name: 'Ada' } });
  expect(await events.next('question', ({ status }) => status === 'accepted')).toMatchObject({
    answeredBy: { principal: 'local', via: 'console' },
  });
  await events.next('call', ({ status }) => status === 'completed');
  const ids = events.events.flatMap(({ id, event }) => (event === 'call' || event === 'question' ? [Number(id)] : []));
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
});

test('W-6: a resumed stream reports missed events once', async () => {
  const { hub, person } = await setup();
  const echo = async (text: string) => hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text } });
  const first = await person.events();
  await echo('one');
  const seen = await first.next('call', ({ status }) => status === 'completed');
  const { lastId } = first;
  first.close();
  await echo('two');
  await echo('three');
  await person.waitFor('/calls?status=ended', 3);
  const second = await person.events(lastId);
  await expect.poll(() => new Set(second.of('call').map(({ id }) => id)).size).toBe(2);
  expect(second.of('call').map(({ id }) => id)).not.toContain(seen['id']);
  // Without a place to go on from, only what is new is told.
  const third = await person.events();
  await echo('four');
  await third.next('call', ({ status }) => status === 'completed');
  expect(new Set(third.of('call').map(({ id }) => id)).size).toBe(1);
});

test('W-6: a stream that was interrupted too long gets resync', async () => {
  const { hub, person } = await setup({ history: { keepMs: 1 } });
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'x' } });
  const events = await person.events('999999999');
  expect(await events.next('resync')).toEqual({ seq: expect.any(Number) });
  const { status } = await raw(person.gateway, '/api/v1/events', {
    headers: { ...person.headers, 'last-event-id': 'nonsense' },
  });
  expect(status).toBe(400);
  expect(codeOf(await person.get('/events?after=-1'))).toBe('invalid_parameter');
});

test('W-6: a page that missed very many changes gets resync', async () => {
  const { gateway, person } = await setup();
  const first = await person.events();
  const { lastId } = first;
  const about = { kind: 'summary' as const, principal: 'local', server: 'old', tool: 'echo' };
  const now = Date.now();
  const counts = { from: now - 1, to: now, count: 1, errors: 0, longestMs: 1 };
  const { history } = gateway.gateway.store;
  const add = async (from: number, count: number): Promise<void> =>
    history.append(
      Array.from({ length: count }, (_, index) => ({ entry: { ...about, ...counts, id: `s${from + index}` } })),
    );
  await add(0, 4000);
  const second = await person.events(lastId);
  await expect.poll(() => second.of('call').length).toBe(4000);
  await add(4000, 1500);
  const third = await person.events(lastId);
  expect(await third.next('resync')).toEqual({ seq: (await history.range()).newest });
  expect(third.of('call')).toEqual([]);
  expect(second.of('resync')).toEqual([]);
});

test('W-6, W-7: a stream reports to a person only their own events, and to an operator all events', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, PEOPLE);
  const [ann, bob, ola] = [withToken(gateway, ANN), await atConsole(gateway, BOB), await atConsole(gateway, OLA)];
  const [ofAnn, ofBob, ofOla] = [await ann.events(), await bob.events(), await ola.events()];
  const hub = await hubOverHttp(gateway.url, 'v1', { authorization: `Bearer ${ANN}` });
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'x' } });
  await ofAnn.next('call');
  await ofOla.next('call');
  const mine = await hubOverHttp(gateway.url, 'v1', { authorization: `Bearer ${BOB}` });
  await mine.call('execute_tool', { server: 'new', tool: 'echo', args: { text: 'y' } });
  await ofBob.next('call');
  expect(new Set(ofBob.of('call').map(({ principal }) => principal))).toEqual(new Set(['bob']));
  expect(new Set(ofAnn.of('call').map(({ principal }) => principal))).toEqual(new Set(['ann']));
});

test('W-6: changes of other principals are read once, and the stream reports their last sequence number', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, PEOPLE);
  const { history } = gateway.gateway.store;
  const bob = withToken(gateway, BOB);
  const events = await bob.events();
  const from: number[] = [];
  const changesAfter = history.changesAfter.bind(history);
  history.changesAfter = async (seq, ...others) => {
    from.push(seq);
    return changesAfter(seq, ...others);
  };
  const now = Date.now();
  const counts = { server: 'old', tool: 'echo', from: now - 1, to: now, count: 1, errors: 0, longestMs: 1 };
  const add = async (principal: string, count: number): Promise<void> =>
    history.append(
      Array.from({ length: count }, (_, index) => ({
        entry: { kind: 'summary', id: `${principal}${index}`, principal, ...counts },
      })),
    );
  await add('ann', 600);
  const { newest } = await history.range();
  expect(await events.next('seq')).toEqual({ seq: newest });
  expect(events.lastId).toBe(String(newest));
  await add('bob', 1);
  expect(await events.next('call')).toMatchObject({ principal: 'bob' });
  expect(from.at(-1)).toBeGreaterThanOrEqual(newest);
  expect(events.of('call')).toHaveLength(1);
});

test('W-6: after a kill and a restart, a page continues with its cookie and gets missed events', async () => {
  const { config } = await servers();
  const store = join(await temporaryFolder(), 'store.db');
  const port = portToReturnTo();
  const file = await configFile(config, { store, port });
  const first = await serveProgram(['--config', file]);
  const launch = (await readLaunch(`${store}.console.json`)) as Launch;
  expect(launch).toMatchObject({ pid: first.child.pid, url: `http://127.0.0.1:${port}/console` });
  const gateway = { url: first.url, console: { url: launch.url, key: launch.key } };
  const person = await atConsole(gateway);
  const hub = await hubOverHttp(first.url);
  const events = await person.events();
  await hub.call('execute_tool', { server: 'new', tool: 'ask', args: {} });
  const question = await events.next('question');
  const { lastId } = events;
  first.child.kill('SIGKILL');
  await first.exited;
  await expect.poll(() => events.closed).toBe(true);
  expect(await readLaunch(`${store}.console.json`)).toBeUndefined();
  await serveProgram(['--config', file]);
  const again = new ConsolePerson(gateway, person.headers);
  const resumed = await again.events(lastId);
  // The question is open as before, and is answered.
  const { status, text } = await again.post(`/questions/${String(question['id'])}/answer`, {
    action: 'accept',
    content: { name: 'Ada' },
  });
  expect(status, text).toBe(200);
  await resumed.next('question', ({ id, status: now }) => id === question['id'] && now === 'accepted');
  await resumed.next('call', ({ id, status: now }) => id === question['callId'] && now === 'completed');
  expect((await again.get(`/calls/${String(question['callId'])}`)).body).toMatchObject({
    result: { content: [{ text: 'Hello Ada' }] },
  });
});

test('W-6: a client that leaves before its stream begins is removed, and counts against the limit until then', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, PEOPLE);
  const ann = withToken(gateway, ANN);
  const { history } = gateway.gateway.store;
  const range = history.range.bind(history);
  let asked = 0;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  history.range = async () => {
    asked += 1;
    if (asked <= 100) await released;
    return range();
  };
  const leave = new AbortController();
  const left = Promise.allSettled(
    Array.from({ length: 100 }, async () =>
      fetch(new URL('/api/v1/events', gateway.url), { headers: ann.headers, signal: leave.signal }),
    ),
  );
  await expect.poll(() => asked).toBe(100);
  expect((await ann.get('/events')).status).toBe(429);
  leave.abort();
  await left;
  await expect.poll(async () => (await ann.events()).of('hello').length).toBe(1);
  release();
  await released;
  // All at the same time, beside the one above.
  const streams = await Promise.all(Array.from({ length: 50 }, async () => ann.events()));
  expect(streams).toHaveLength(50);
});

test('W-7: a stream ends when the sign-in expires', async () => {
  const clock = new TestClock(Date.now());
  const gateway = await httpGateway({}, PEOPLE, clock);
  const [page, program] = [await (await atConsole(gateway, ANN)).events(), await withToken(gateway, ANN).events()];
  clock.advance(COOKIE_MS - 1000);
  const later = await (await atConsole(gateway, ANN)).events();
  clock.advance(2000);
  await expect.poll(() => page.closed).toBe(true);
  expect([later.closed, program.closed]).toEqual([false, false]);
});

test('W-6: the streams of one person are limited, without effect on others', async () => {
  const { config } = await servers();
  const gateway = await httpGateway(config, PEOPLE);
  const [ann, bob] = [withToken(gateway, ANN), withToken(gateway, BOB)];
  const streams = await Promise.all(Array.from({ length: 100 }, async () => ann.events()));
  const refused = await ann.get('/events');
  expect([refused.status, codeOf(refused)]).toEqual([429, 'limit']);
  (await bob.events()).close();
  for (const stream of streams) stream.close();
  await expect.poll(async () => (await ann.events()).of('hello').length).toBe(1);
});

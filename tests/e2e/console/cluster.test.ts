/** Two gateways on one database: the console of either shows everything, and an answer given at either counts. */
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Database } from '../../../src/store/postgres/database.ts';
import { HttpBrowser, type Visited } from '../../auth/http-browser.ts';
import { handmadeIssuer } from '../../auth/issuer.ts';
import { PostgresServer } from '../../postgres/server.ts';
import { atConsole, ConsolePerson, JSON_HEADERS, withToken, wonAndLost } from '../../support/console.ts';
import { KillableGateway } from '../../crash/gateway.ts';
import { httpGateway, temporaryFolder, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { Receiver } from '../../support/receiver.ts';
import { nextTold, target } from '../notify/setup.ts';
import { defer } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { QUICK_PROGRAM } from '../../support/servers.ts';
import { ANN, asked, BOB, OLA, PEOPLE, servers } from './setup.ts';

// The first test waits for two gateways that have never been loaded before.
vi.setConfig({ testTimeout: 60_000 });

let postgres: PostgresServer;
let admin: Database;

beforeAll(async () => {
  postgres = await PostgresServer.start();
  admin = await Database.open(postgres.url());
}, 120_000);
beforeEach(async () => admin.script('DROP SCHEMA IF EXISTS meanwhile CASCADE'));
afterAll(async () => {
  await admin.close();
  await postgres.remove();
});

async function two(settings: SettingsInput = {}): Promise<{ a: TestGateway; b: TestGateway }> {
  const { config } = await servers();
  const shared = { store: postgres.url(), cluster: { drainMs: 0 }, ...settings };
  return { a: await httpGateway(config, shared), b: await httpGateway(config, shared) };
}

test.each([
  ['v1', 'old'],
  ['modern', 'new'],
] as const)('W-2: a question to a %s client at one gateway is answered at the other', async (kind, server) => {
  const { a, b } = await two();
  const hub = await hubOverHttp(a.url, kind);
  const person = await atConsole(b);
  const events = await person.events();
  const call = await hub.call('execute_tool', { server, tool: 'ask', args: { message: 'Who?' } });
  const question = await events.next('question');
  expect(await person.one('/questions')).toMatchObject({ id: question['id'], params: { message: 'Who?' } });
  const path = `/questions/${String(question['id'])}/answer`;
  const wrong = await person.post(path, { action: 'accept', content: { name: 1 } });
  expect([wrong.status, wrong.body['error']]).toMatchObject([422, { fields: { name: 'expected a string' } }]);
  const { status, body } = await person.post(path, { action: 'accept', content: { name: 'Ada' } });
  expect([status, body]).toMatchObject([
    200,
    { status: 'accepted', answeredBy: { principal: 'local', via: 'console' } },
  ]);
  expect((await hub.call('get_task_result', { task_id: taskIdOf(call) })).text).toBe('Hello Ada');
  const late = await (await atConsole(a)).post(path, { action: 'decline' });
  expect([late.status, late.body['question']]).toMatchObject([409, { status: 'accepted' }]);
  await events.next('call', (each) => each['status'] === 'completed');
});

test('W-2: of two answers at two gateways one is accepted', async () => {
  const { a, b } = await two();
  const hub = await hubOverHttp(a.url);
  const [here, there] = [await atConsole(a), withToken(b, b.console.key)];
  const { id } = await asked(hub, here, 'old');
  const answer = { action: 'accept', content: { name: 'Ada' } };
  const replies = await Promise.all([here, there].map(async (each) => each.post(`/questions/${id}/answer`, answer)));
  const [won, lost] = wonAndLost(replies);
  expect(lost.body['question']).toMatchObject({ status: 'accepted', answeredBy: won.body['answeredBy'] });
});

test('W-3, W-5: calls, tools, servers and sessions of both gateways can be used at either', async () => {
  const { a, b } = await two();
  const hub = await hubOverHttp(a.url, 'modern');
  const person = await atConsole(b);
  const call = await hub.call('execute_tool', { server: 'old', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 1 });
  const running = await person.one('/calls?status=running');
  expect((await person.post(`/calls/${running.id}/cancel`)).body).toMatchObject({ status: 'cancelled' });
  expect((await hub.call('get_task', { task_id: taskIdOf(call) })).body['task']).toMatchObject({ status: 'cancelled' });
  expect((await person.post(`/calls/${running.id}/cancel`)).status).toBe(409);
  // All states of a principal are at one gateway, and so is the console's.
  const tried = await person.post('/servers/new/calls', { tool: 'echo', arguments: { text: 'hi' } });
  expect([tried.status, tried.body]).toMatchObject([202, { view: 'console' }]);
  await expect
    .poll(async () => (await person.get(`/calls/${String(tried.body['id'])}`)).body)
    .toMatchObject({ status: 'completed', result: { content: [{ text: 'hi' }] } });
  expect((await person.post('/servers/new/connect')).body).toMatchObject({
    state: 'connected',
    tools: expect.any(Array),
  });
  expect(await person.items('/servers')).toMatchObject([{ name: 'old', sessions: 2 }, { name: 'new' }]);
  const sessions = await person.items('/sessions');
  expect(new Set(sessions.map(({ view }) => view))).toEqual(new Set(['console', 'hub']));
  const owner = a.gateway.store.cluster?.gatewayId;
  expect(new Set(sessions.map(({ gateway }) => gateway))).toEqual(new Set([owner]));
});

test('W-7: a cookie is valid at all gateways, and a person sees the same data at each', async () => {
  const { a, b } = await two(PEOPLE);
  const ofAnn = await hubOverHttp(a.url, 'v1', { authorization: `Bearer ${ANN}` });
  const ann = await atConsole(a, ANN);
  const there = new ConsolePerson(b, ann.headers);
  const { id } = await asked(ofAnn, ann, 'old');
  expect(await there.one('/questions')).toMatchObject({ id });
  expect(await there.items('/sessions')).toMatchObject([{ principal: 'ann' }]);
  const bob = await atConsole(b, BOB);
  expect(await bob.items('/questions')).toEqual([]);
  expect(await bob.items('/sessions')).toEqual([]);
  const ola = await atConsole(b, OLA);
  expect(await ola.items('/sessions')).toMatchObject([{ principal: 'ann' }]);
  expect((await ola.post(`/questions/${id}/answer`, { action: 'decline' })).body).toMatchObject({
    principal: 'ann',
    answeredBy: { principal: 'ola' },
  });
});

test('W-6: a page continues its event stream at another gateway', async () => {
  const { a, b } = await two();
  const hub = await hubOverHttp(b.url);
  const person = await atConsole(a);
  const events = await person.events();
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'one' } });
  await events.next('call', ({ status }) => status === 'completed');
  const { lastId } = events;
  await a.close();
  await hub.call('execute_tool', { server: 'old', tool: 'echo', args: { text: 'two' } });
  const resumed = await new ConsolePerson(b, person.headers).events(lastId);
  await resumed.next('call', ({ status }) => status === 'completed');
  expect(new Set(resumed.of('call').map(({ id }) => id)).size).toBe(1);
});

test('N-2, N-3: two gateways notify once, and the answer link works at the gateway without the session', async () => {
  const hook = await Receiver.start();
  const targets = { hook: target(hook, { answerLinks: true, events: ['question', 'task'] }) };
  const { a, b } = await two({ notify: { targets } });
  const hub = await hubOverHttp(a.url, 'modern');
  const call = await hub.call('execute_tool', { server: 'new', tool: 'ask', args: { message: 'Who?' } });
  const { data } = await nextTold(hook, 'question.opened');
  const link = new URL(new URL(String(data['answerLink'])).pathname, b.url);
  expect(await (await fetch(link)).text()).toContain('Who?');
  const body = new URLSearchParams({ 'field-0': 'Ada', action: 'accept' });
  const [first, second] = [await fetch(link, { method: 'POST', body }), await fetch(link, { method: 'POST', body })];
  expect([first.status, second.status]).toEqual([200, 410]);
  expect((await hub.call('get_task_result', { task_id: taskIdOf(call) })).text).toBe('Hello Ada');
  expect(await (await atConsole(b)).items('/questions?status=ended')).toMatchObject([
    { status: 'accepted', answeredBy: { principal: 'local', via: 'link' } },
  ]);
  await nextTold(hook, 'task.ended');
  await expect.poll(async () => b.gateway.store.outbox.list(10)).toEqual([]);
  expect(hook.received).toHaveLength(2);
});

test('G-2, K-5: a call that waits for approval at a killed gateway continues at another and is sent once', async () => {
  const { v1, config } = await servers();
  const settings = {
    store: postgres.url(),
    cluster: { leaseMs: 1000, drainMs: 0 },
    rules: [{ tool: 'echo', then: 'ask' }],
  };
  const folder = await temporaryFolder();
  const options = { program: QUICK_PROGRAM, folder, servers: config, settings, store: settings.store };
  const killed = await KillableGateway.prepare(options);
  defer(() => killed.stop());
  await killed.start();
  const left = await httpGateway(config, settings);
  const before = await rawSession(killed.url);
  const args = { server: 'old', tool: 'echo', args: { text: 'hi' } };
  const task_id = taskIdOf(await before.reply('execute_tool', args));
  const person = await atConsole(left);
  const { id } = await person.one('/questions?status=open');
  killed.kill();
  await killed.gone();
  const body = { action: 'accept', content: { decision: 'allow' } };
  const answer = async () => person.post(`/questions/${id}/answer`, body);
  // Until the lease has ended, the question is at nobody's gateway.
  const first = await vi.waitFor(
    async () => {
      const reply = await answer();
      expect(reply.status, reply.text).toBe(200);
      return reply;
    },
    { timeout: 20_000, interval: 100 },
  );
  expect(first.body).toMatchObject({ id, status: 'accepted', approval: { tool: 'echo', decision: 'allow' } });
  expect((await answer()).status).toBe(409);
  const call = await vi.waitFor(async () => {
    const [found] = await person.items('/calls?server=old');
    expect(found).toMatchObject({ taskId: task_id, status: 'completed' });
    return found;
  });
  expect(call).toMatchObject({ waits: [{ questionId: id }] });
  expect(v1.state.calls).toHaveLength(1);
});

test('A-N, W-7: a sign-in that begins at one gateway ends at the other and is valid at both', async () => {
  const issuer = await handmadeIssuer('console');
  const publicUrl = 'https://gateway.example.com';
  const auth = { issuers: [{ issuer: issuer.url, console: { clientId: 'console' } }] };
  const { a, b } = await two({ publicUrl, auth });
  const browser = new HttpBrowser();
  const at = async (gateway: TestGateway, path: string, body?: object): Promise<Visited> => {
    browser.behind[publicUrl] = new URL(gateway.url).origin;
    const headers = { ...JSON_HEADERS, origin: publicUrl };
    const post = { method: 'POST', headers, body: JSON.stringify(body) };
    return browser.send(`${publicUrl}${path}`, body && post);
  };
  const { text } = await at(a, '/console/sign-in/begin', { issuer: issuer.url });
  const { searchParams } = new URL((JSON.parse(text) as { url: string }).url);
  const [state, nonce] = [searchParams.get('state') ?? '', searchParams.get('nonce')];
  const answer = { id_token: await issuer.token({ nonce }), scope: 'mcp:use mcp:answer' };
  issuer.tokenAnswer = { status: 200, body: answer };
  const cookie = browser.cookiesFor(publicUrl);
  const { headers } = await at(b, `/console/callback?code=c&state=${state}`);
  const key = /#key=([\w-]+)/.exec(String(headers['location']))?.[1];
  // The same link is of no use at the first one either.
  const [name = '', value = ''] = cookie.split('=');
  const other = new HttpBrowser({ [publicUrl]: new URL(a.url).origin });
  other.setCookie(publicUrl, name, value);
  expect((await other.send(`${publicUrl}/console/callback?code=c&state=${state}`)).status).toBe(401);
  const entered = await at(a, '/console/sign-in', { key });
  const { pageKey } = JSON.parse(entered.text) as { pageKey: string };
  const own = { cookie: browser.cookiesFor(publicUrl), 'meanwhile-console': pageKey, host: 'gateway.example.com' };
  for (const gateway of [a, b]) {
    const { body } = await new ConsolePerson(gateway, own).get('/me');
    expect(body).toMatchObject({ principal: `ann@${issuer.url}` });
  }
});

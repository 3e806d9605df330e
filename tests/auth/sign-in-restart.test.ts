/** Sign-ins that outlive a gateway: one that is killed, and several on one database. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { kill, killable, restart } from '../e2e/restart/killable.ts';
import { PostgresServer } from '../postgres/server.ts';
import { httpGateway, type TestGateway } from '../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../support/hub.ts';
import { rawSession } from '../support/raw-http.ts';
import { Browser, signInWith } from './sign-in/browser.ts';
import { protectedServer } from './sign-in/protected-server.ts';

const textIn = (result: Json): unknown => (result['content'] as { text: string }[])[0]?.text;
const ECHO = { server: 'files', tool: 'echo', args: { text: 'hello' } };

test('A-Q: a gateway killed during a sign-in continues the call after the sign-in', async () => {
  const server = await protectedServer();
  const gateway = await killable({ files: { url: server.url } });
  const session = await rawSession(gateway.url);
  const reply = await session.reply('execute_tool', ECHO);
  const taskId = taskIdOf(reply);
  const [asked] = reply.elicitations;
  await kill(gateway);
  await gateway.start();
  const open = async () => (await session.reply('get_elicitations')).body['elicitations'] as { url: string }[];
  await expect.poll(async () => (await open()).length).toBe(1);
  const [link] = await open();
  expect(await signInWith(link?.url ?? asked?.url ?? '')).toContain('You are signed in');
  expect(textIn((await session.reply('get_task_result', { task_id: taskId })).raw)).toContain('hello');
  expect(await open()).toEqual([]);
  // A second kill does not lose the tokens.
  await kill(gateway);
  await gateway.start();
  expect((await session.reply('execute_tool', ECHO)).text).toContain('hello');
});

test('A-S: a gateway killed between a refresh and the store needs at worst a new sign-in, and the call continues', async () => {
  const server = await protectedServer();
  const { authorization } = server;
  const gateway = await killable({ files: { url: server.url } });
  const session = await rawSession(gateway.url);
  const first = await session.reply('execute_tool', ECHO);
  await signInWith(first.elicitations[0]?.url ?? '');
  await session.reply('get_task_result', { task_id: taskIdOf(first) });
  // By the clock of the gateway, the token has expired.
  await restart(gateway, 3_700_000);
  let killed: Promise<void> | undefined;
  authorization.intervene = async ({ form }) => {
    if (form['grant_type'] !== 'refresh_token') return undefined;
    // The refresh token is used up, and the tokens that take its place are never stored.
    authorization.forgetRefreshTokens();
    killed ??= kill(gateway);
    await killed;
    return { status: 503 };
  };
  await session.reply('execute_tool', ECHO).catch(() => {});
  await vi.waitFor(() => expect(killed).toBeDefined());
  await killed;
  authorization.intervene = () => undefined;
  // The claim of the gateway that was killed is over by then.
  await gateway.start(3_800_000);
  const reply = await session.reply('execute_tool', ECHO);
  expect(await signInWith(reply.elicitations[0]?.url ?? '')).toContain('You are signed in');
  expect(textIn((await session.reply('get_task_result', { task_id: taskIdOf(reply) })).raw)).toContain('hello');
  expect(authorization.askedFor('/authorize')).toHaveLength(2);
});

describe('several gateways on PostgreSQL', () => {
  let database: PostgresServer;
  beforeAll(async () => {
    database = await PostgresServer.start();
  }, 120_000);
  afterAll(async () => database.remove());

  const start = async (url: string): Promise<TestGateway> =>
    httpGateway(
      { files: { url } },
      { store: database.url(), auth: { encryptionKey: 'a'.repeat(64) }, cluster: { leaseMs: 2000 } },
    );

  test('A-Q, K-1: a sign-in finished at another gateway continues the call, and both gateways have the tokens', async () => {
    const server = await protectedServer();
    const [one, two] = [await start(server.url), await start(server.url)];
    const hub = await hubOverHttp(one.url, 'v2');
    const reply = await hub.call('execute_tool', ECHO);
    const link = new URL(reply.elicitations[0]?.url ?? '');
    const { port } = new URL(two.url);
    link.port = port;
    const browser = new Browser();
    // As if a balancer had sent the browser to the other one.
    browser.onRedirect = (url) => (url.pathname === '/oauth/callback' ? Object.assign(url, { port }) : url);
    expect(await signInWith(link.href, browser)).toContain('You are signed in');
    expect(textIn((await hub.call('get_task_result', { task_id: taskIdOf(reply) })).raw)).toContain('hello');
    const other = await hubOverHttp(two.url, 'v2');
    expect((await other.call('execute_tool', ECHO)).text).toContain('hello');
    expect(server.authorization.askedFor('/authorize')).toHaveLength(1);
  });

  test('A-S, K-1: ten calls at two gateways with an expired token make one refresh', async () => {
    const server = await protectedServer();
    const { authorization } = server;
    authorization.expiresIn = 1;
    const hubs = await Promise.all([start(server.url), start(server.url)].map(async (each) => hubAt(await each)));
    const reply = await hubs[0]?.call('execute_tool', ECHO);
    await signInWith(reply?.elicitations[0]?.url ?? '');
    await hubs[0]?.call('get_task_result', { task_id: reply && taskIdOf(reply) });
    for (const hub of hubs) expect((await hub.call('execute_tool', ECHO)).text).toContain('hello');
    const refreshes = (): number =>
      authorization.askedFor('/token').filter(({ form }) => form['grant_type'] === 'refresh_token').length;
    const since = Date.now();
    await expect.poll(() => Date.now() - since, { timeout: 5000 }).toBeGreaterThan(1000);
    // The next one lasts for long.
    authorization.expiresIn = 3600;
    const before = refreshes();
    const replies = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => hubs[index % 2]?.call('execute_tool', ECHO)),
    );
    for (const each of replies) expect(each?.text).toContain('hello');
    expect(refreshes()).toBe(before + 1);
  });
});

const hubAt = async ({ url }: TestGateway): ReturnType<typeof hubOverHttp> => hubOverHttp(url, 'v2');

/** Sign-ins that outlive a gateway: one that is killed, and several on one database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kill, killable } from '../e2e/restart/killable.ts';
import { PostgresServer } from '../postgres/server.ts';
import { httpGateway, type TestGateway } from '../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../support/hub.ts';
import { rawSession } from '../support/raw-http.ts';
import { Browser, signInWith } from './sign-in/browser.ts';
import { protectedServer } from './sign-in/protected-server.ts';

const textIn = (result: Json): unknown => (result['content'] as { text: string }[])[0]?.text;
const ECHO = { server: 'files', tool: 'echo', args: { text: 'hello' } };

test('A-Q: a gateway that is killed while a sign-in waits goes on with the call after the sign-in', async () => {
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

  test('A-Q, K-1: a sign-in that is finished at another gateway lets the call go on, and both have the tokens', async () => {
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
});

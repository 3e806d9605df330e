/** Sign-in as a question: real gateways, real MCP servers of both SDKs, clients of both eras, and a person with a browser. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LegacyWire } from '../../e2e/direct/legacy-wire.ts';
import { ModernWire } from '../../e2e/direct/modern-wire.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, temporaryFolder, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, hubOverStdio, taskIdOf, type Json } from '../../support/hub.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { owned } from '../../support/owned.ts';
import { Browser, openAs, signInOn, signInWith } from './browser.ts';
import { protectedServer, type ProtectedServer } from './protected-server.ts';

const WITH_LINKS = { elicitation: { form: {}, url: {} } };

const direct = ({ url }: TestGateway, server = 'files'): string => `${url}/${server}`;

async function play(
  sdk: 'v1' | 'v2' = 'v2',
  settings: Json = {},
  clock?: Clock,
): Promise<[TestGateway, ProtectedServer]> {
  const server = await protectedServer(sdk);
  return [await httpGateway({ files: { url: server.url } }, settings, clock), server];
}

const textIn = (result: Json): unknown => (result['content'] as { text: string }[])[0]?.text;

describe.each(['v1', 'v2'] as const)('a server of SDK %s', (sdk) => {
  test('A-Q, A-20: a call at the hub becomes a task, its link leads to the sign-in, and the call continues after it', async () => {
    const [gateway, server] = await play(sdk);
    const hub = await hubOverHttp(gateway.url, 'v2');
    const reply = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'hello' } });
    const taskId = taskIdOf(reply);
    const [question] = reply.elicitations;
    expect(question?.message).toContain('Sign in to use files');
    expect(question?.message).toContain(new URL(server.authorization.issuer).host);
    const link = question?.url ?? '';
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/oauth\/start\/[\w-]{20,}$/);
    const page = await signInWith(link);
    expect(page).toContain('You are signed in');
    const result = await hub.call('get_task_result', { task_id: taskId });
    expect(textIn(result.raw)).toContain('hello');
    expect((await hub.call('get_elicitations')).elicitations).toEqual([]);
    // The next call has the token from the start.
    const before = server.received.length;
    const next = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'again' } });
    expect(next.text).toContain('again');
    expect(server.received.slice(before).every((header) => header?.startsWith('Bearer at-'))).toBe(true);
  });
});

describe('a direct endpoint', () => {
  test('A-Q: a legacy client gets the question on the call, a notification after the sign-in, and the result', async () => {
    const [gateway] = await play();
    const client = await LegacyWire.open(direct(gateway), { capabilities: WITH_LINKS });
    const standing = await client.listen();
    const error = await client.error('tools/list');
    expect(error).toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', url: expect.stringContaining('/oauth/start/') as string }] },
    });
    const stream = await client.callStream('echo', { text: 'hello' });
    const asked = await stream.heard('elicitation/create');
    const { url, mode, elicitationId } = asked['params'] as Record<string, string>;
    expect(mode).toBe('url');
    await stream.answer(asked, { action: 'accept' });
    await signInWith(url ?? '');
    expect(textIn(await stream.result())).toContain('hello');
    expect((await standing.heard('notifications/elicitation/complete'))['params']).toEqual({ elicitationId });
    await standing.heard('notifications/tools/list_changed');
    expect((await client.request('tools/list'))['tools']).not.toEqual([]);
  });

  test('A-Q: a modern client gets the link instead of the result, and the result when it repeats the call', async () => {
    const [gateway] = await play();
    const client = new ModernWire(direct(gateway), { capabilities: WITH_LINKS });
    const error = await client.error('tools/list');
    expect(error?.message).toContain('meanwhile login files');
    expect(error?.message).toContain('/oauth/start/');
    const round = await client.ask('echo', { text: 'hello' });
    const [[key, { params }] = ['', { params: {} as Json }]] = Object.entries(round.inputRequests);
    const inputResponses = { [key]: { action: 'accept' } };
    const again = client.call('echo', { text: 'hello' }, { inputResponses, requestState: round.requestState });
    await signInWith(String(params['url']));
    expect(textIn(await again)).toContain('hello');
  });

  test('A-Q: a call of a client without URL elicitation waits, and the hub and the console show the link', async () => {
    const [gateway] = await play();
    const client = await LegacyWire.open(direct(gateway), { capabilities: {} });
    const calling = client.call('echo', { text: 'hello' });
    const hub = await hubOverHttp(gateway.url, 'v2');
    const shown = async (): Promise<string | undefined> => (await hub.call('get_elicitations')).elicitations[0]?.url;
    await expect.poll(shown).toContain('/oauth/start/');
    await signInWith((await shown()) ?? '');
    expect(textIn(await calling)).toContain('hello');
  });

  test('A-Q: declining the sign-in fails the call with that reason', async () => {
    const [gateway, server] = await play();
    const client = await LegacyWire.open(direct(gateway), { capabilities: WITH_LINKS });
    const stream = await client.callStream('echo', { text: 'hello' });
    await stream.answer(await stream.heard('elicitation/create'), { action: 'decline' });
    const { error } = await stream.answered();
    expect(error?.message).toContain('was declined, and the call was not made');
    expect(server.authorization.askedFor('/authorize')).toEqual([]);
  });
});

describe('the endpoint of all servers', () => {
  test('A-Q: lists of other servers do not wait and name the missing server, and list_changed follows the sign-in', async () => {
    const server = await protectedServer();
    const open = owned(await startV2Http());
    const gateway = await httpGateway({ files: { url: server.url }, open: { url: open.url } });
    const client = await LegacyWire.open(`${gateway.url}/all`, { capabilities: WITH_LINKS });
    const standing = await client.listen();
    const listed = await client.request('tools/list');
    const names = (listed['tools'] as { name: string }[]).map(({ name }) => name);
    expect(names.some((name) => name.startsWith('open'))).toBe(true);
    expect(names.some((name) => name.startsWith('files'))).toBe(false);
    expect(JSON.stringify(listed['_meta'])).toContain('meanwhile login files');
    const hub = await hubOverHttp(gateway.url, 'v2');
    const reply = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'x' } });
    await signInWith(reply.elicitations[0]?.url ?? '');
    await standing.heard('notifications/tools/list_changed');
    const after = (await client.request('tools/list'))['tools'] as { name: string }[];
    expect(after.some(({ name }) => name.startsWith('files'))).toBe(true);
  });
});

describe('tokens', () => {
  async function signedIn(
    settings: Json = {},
    clock?: Clock,
  ): Promise<[TestGateway, ProtectedServer, Awaited<ReturnType<typeof hubOverHttp>>]> {
    const [gateway, server] = await play('v2', settings, clock);
    const hub = await hubOverHttp(gateway.url, 'v2');
    const reply = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'x' } });
    await signInWith(reply.elicitations[0]?.url ?? '');
    await hub.call('get_task_result', { task_id: taskIdOf(reply) });
    return [gateway, server, hub];
  }

  test('A-32: a tool that needs more scopes requests the granted scopes and the new one', async () => {
    const [, server, hub] = await signedIn();
    server.needs['echo'] = 'write';
    const reply = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'more' } });
    expect(reply.elicitations[0]?.message).toContain('write');
    await signInWith(reply.elicitations[0]?.url ?? '');
    const result = await hub.call('get_task_result', { task_id: taskIdOf(reply) });
    expect(textIn(result.raw)).toContain('more');
  });

  test('A-S: ten concurrent calls make one refresh, if the token has expired and if the server refuses it', async () => {
    const clock = new JumpingClock();
    const [, server, hub] = await signedIn({}, clock);
    const { authorization } = server;
    const refreshes = (): number =>
      authorization.askedFor('/token').filter(({ form }) => form['grant_type'] === 'refresh_token').length;
    const callAtOnce = async (): Promise<void> => {
      const calls = Array.from({ length: 10 }, async (_, index) =>
        hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: `call ${index}` } }),
      );
      for (const [index, reply] of (await Promise.all(calls)).entries()) expect(reply.text).toContain(`call ${index}`);
    };
    // More than its hour.
    clock.jump(3_700_000);
    await callAtOnce();
    expect(refreshes()).toBe(1);
    // The server forgets all tokens, although they should last for longer.
    clock.jump(60_000);
    server.expireTokens();
    const { length } = server.received;
    await callAtOnce();
    expect(server.received.length - length).toBeGreaterThan(10);
    expect(refreshes()).toBe(2);
  });

  test('A-12, A-33: tokens are not logged', async () => {
    const [gateway, server] = await signedIn();
    const [token = ''] = [...server.authorization.valid];
    expect(token).not.toBe('');
    expect(JSON.stringify(gateway.logs)).not.toContain(token);
  });

  test('A-S: a configured Authorization header is sent unchanged, without a sign-in', async () => {
    const server = await protectedServer();
    const gateway = await httpGateway({ files: { url: server.url, headers: { Authorization: 'Bearer mine' } } });
    const hub = await hubOverHttp(gateway.url, 'v2');
    const reply = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'x' } });
    expect(reply.isError).toBe(true);
    expect(reply.elicitations).toEqual([]);
    expect(new Set(server.received)).toEqual(new Set(['Bearer mine']));
    expect(server.authorization.asked).toEqual([]);
  });
});

describe('servers that are removed', () => {
  test('A-S: removing a server deletes its tokens at the gateway and revokes them', async () => {
    const server = await protectedServer();
    const gateway = await httpGateway({});
    const hub = await hubOverHttp(gateway.url, 'v2');
    // Until somebody has signed in, the server cannot be added: it does not list its tools.
    const added = await hub.call('add_server', { name: 'files', url: server.url });
    await signInWith(/http:\S+\/oauth\/start\/[\w-]+/.exec(added.text)?.[0] ?? '');
    expect((await hub.call('add_server', { name: 'files', url: server.url })).isError).toBe(false);
    expect(await gateway.gateway.accounts?.list()).toHaveLength(1);
    expect((await hub.call('remove_server', { name: 'files' })).isError).toBe(false);
    expect(await gateway.gateway.accounts?.list()).toEqual([]);
    await expect.poll(() => server.authorization.revoked).toEqual([expect.stringMatching(/^rt-/)]);
  });

  test('A-S: adding another URL under the same name deletes and revokes the tokens of the first one', async () => {
    const server = await protectedServer();
    const open = owned(await startV2Http());
    const gateway = await httpGateway({});
    const hub = await hubOverHttp(gateway.url, 'v2');
    const added = await hub.call('add_server', { name: 'files', url: server.url });
    await signInWith(/http:\S+\/oauth\/start\/[\w-]+/.exec(added.text)?.[0] ?? '');
    expect((await hub.call('add_server', { name: 'files', url: server.url })).isError).toBe(false);
    expect((await hub.call('add_server', { name: 'files', url: open.url })).isError).toBe(false);
    expect(await gateway.gateway.accounts?.list()).toEqual([]);
    await expect.poll(() => server.authorization.revoked).toHaveLength(1);
  });
});

describe('restarts', () => {
  test('A-Q: a restarted gateway continues the call, and the earlier link still works', async () => {
    const server = await protectedServer();
    const store = join(await temporaryFolder(), 'store.db');
    const first = await httpGateway({ files: { url: server.url } }, { store });
    const hub = await hubOverHttp(first.url, 'modern');
    const reply = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'hello' } });
    const taskId = taskIdOf(reply);
    await first.close();
    const port = Number(new URL(first.url).port);
    const second = await httpGateway({ files: { url: server.url } }, { store, port });
    const again = await hubOverHttp(second.url, 'modern');
    await expect.poll(async () => (await again.call('get_elicitations')).elicitations.length).toBe(1);
    expect(await signInWith(reply.elicitations[0]?.url ?? '')).toContain('You are signed in');
    const result = await again.call('get_task_result', { task_id: taskId });
    expect(textIn(result.raw)).toContain('hello');
    expect((await again.call('get_elicitations')).elicitations).toEqual([]);
  });
});

describe('several people', () => {
  test('A-Q, A-13: only the principal of the call can sign in, and others cannot use the account', async () => {
    const tokens = { ann: 'token-of-ann-0123456789', bob: 'token-of-bob-0123456789' };
    const [gateway, server] = await play('v2', { auth: { tokens } });
    const as = async (token: string) => hubOverHttp(gateway.url, 'v2', { authorization: `Bearer ${token}` });
    const [ann, bob] = [await as(tokens.ann), await as(tokens.bob)];
    const reply = await ann.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'mine' } });
    const link = reply.elicitations[0]?.url ?? '';
    // Without the token, the command would sign in somebody else.
    const { origin } = new URL(gateway.url);
    const wire = new ModernWire(direct(gateway), { headers: { authorization: `Bearer ${tokens.ann}` } });
    expect((await wire.error('tools/list'))?.message).toContain(`meanwhile login files --url ${origin} --token TOKEN`);
    const stranger = new Browser();
    expect((await openAs(stranger, tokens.bob, link)).status).toBe(403);
    const browser = new Browser();
    await signInOn(await openAs(browser, tokens.ann, link), browser);
    const result = await ann.call('get_task_result', { task_id: taskIdOf(reply) });
    expect(textIn(result.raw)).toContain('mine');
    const other = await bob.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'x' } });
    expect(other.elicitations).toHaveLength(1);
    expect(server.authorization.valid.size).toBe(1);
  });
});

describe('stdio', () => {
  test('A-Q: the link leads to a local port that is open while the sign-in is pending', async () => {
    const server = await protectedServer();
    const hub = await hubOverStdio({ files: { url: server.url } }, {}, 'v2');
    const reply = await hub.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'hello' } });
    const link = reply.elicitations[0]?.url ?? '';
    expect(await signInWith(link)).toContain('You are signed in');
    const result = await hub.call('get_task_result', { task_id: taskIdOf(reply) });
    expect(textIn(result.raw)).toContain('hello');
    await expect.poll(async () => fetch(link).catch(() => 'closed')).toBe('closed');
  });
});

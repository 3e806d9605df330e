import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { expect, test, vi } from 'vitest';
import { lazyAccounts } from '../../../src/core/sign-in/lazy-accounts.ts';
import type { Accounts, AuthChallenge } from '../../../src/core/ports/accounts.ts';
import { defer } from '../../support/owned.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import { handmadeServer, type Asked } from './handmade-server.ts';
import { at, comeBack, REDIRECT_URI, signedIn, signInOf, testAccounts, UNAUTHORIZED } from './signing-in.ts';

test('A-20, A-21, A-25, A-27, A-28: a person signs in at a server that provides all metadata', async () => {
  const server = await handmadeServer();
  server.resourceMetadata = { scopes_supported: ['read', 'write'] };
  const { accounts } = testAccounts();
  const account = at(server.url);
  expect(await accounts.tokens(account).current()).toBeUndefined();

  const signIn = signInOf(await accounts.tokens(account).refused(undefined, UNAUTHORIZED));
  expect(signIn).toMatchObject({ principal: 'ann', server: 'files', issuer: server.issuer, scopes: ['read', 'write'] });
  expect(await accounts.findSignIn(signIn.id)).toEqual(signIn);
  const url = await accounts.authorizationUrl(signIn.id);
  expect(Object.fromEntries(url.searchParams)).toEqual({
    response_type: 'code',
    client_id: 'client-1',
    redirect_uri: REDIRECT_URI,
    state: expect.stringMatching(/.{60}/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
    resource: server.url,
    scope: 'read write',
  });
  // Two windows of the browser are one sign-in.
  expect((await accounts.authorizationUrl(signIn.id)).href).toBe(url.href);

  expect(await accounts.complete(await comeBack(accounts, signIn))).toEqual(signIn);
  expect(await accounts.findSignIn(signIn.id)).toBeUndefined();
  expect(server.valid).toContain(await accounts.tokens(account).current());
  const [registration] = server.askedFor('/register');
  expect(JSON.parse(registration?.body ?? '')).toEqual({
    client_name: 'Meanwhile',
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    scope: 'read write',
  });
  expect(server.askedFor('/token')[0]?.form).toMatchObject({ resource: server.url, redirect_uri: REDIRECT_URI });
  expect(await accounts.list()).toEqual([
    {
      principal: 'ann',
      server: 'files',
      issuer: server.issuer,
      scopes: ['read', 'write'],
      expiresAt: expect.any(Number),
      renewable: true,
    },
  ]);
});

test('A-S: ten calls with an expired token make one refresh, even at two gateways', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const [one, two] = [testAccounts(database), testAccounts(database)];
  const account = at(server.url);
  const token = await signedIn(one.accounts, account);
  expect(await two.accounts.tokens(account).current()).toBe(token);
  // The server does not accept it any more, although it should last for longer.
  for (const { clock } of [one, two]) clock.jump(1_800_000);
  server.valid.clear();
  const calls = Array.from({ length: 10 }, async (_, index) =>
    (index % 2 === 0 ? one : two).accounts.tokens(account).refused(token, UNAUTHORIZED),
  );
  expect(new Set((await Promise.all(calls)).map(({ then }) => then))).toEqual(new Set(['retry']));
  expect(server.askedFor('/token')).toHaveLength(2);
  const renewed = await one.accounts.tokens(account).current();
  expect(server.valid).toContain(renewed);
  expect(await two.accounts.tokens(account).current()).toBe(renewed);
});

test('A-S: a token is renewed before it expires, without delaying requests', async () => {
  const server = await handmadeServer();
  const { accounts, clock } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  const tokens = accounts.tokens(account);
  clock.jump(3_600_000 - 70_000);
  expect(await tokens.current()).toBe(token);
  expect(server.askedFor('/token')).toHaveLength(1);
  clock.jump(20_000);
  expect(await tokens.current()).toBe(token);
  await vi.waitFor(async () => expect(await tokens.current()).not.toBe(token));
  expect(server.askedFor('/token')).toHaveLength(2);
  // One that has expired is not sent: the caller gets the next one.
  clock.jump(7_200_000);
  const calls = await Promise.all(Array.from({ length: 10 }, async () => tokens.current()));
  expect(new Set(calls).size).toBe(1);
  expect(server.valid).toContain(calls[0]);
  expect(server.askedFor('/token')).toHaveLength(3);
});

test('A-26, A-S: the error of a late refresh does not delete newer tokens', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const [one, two] = [testAccounts(database), testAccounts(database)];
  const account = at(server.url);
  const old = await signedIn(one.accounts, account);
  one.clock.jump(60_000);
  // While the refresh is under way, the person signs in anew at another gateway.
  server.intervene = async ({ form }) => {
    if (form['grant_type'] !== 'refresh_token') return undefined;
    server.intervene = () => undefined;
    const again = await two.accounts.signIn(account);
    await two.accounts.complete(await comeBack(two.accounts, again));
    return { status: 400, body: { error: 'invalid_grant' } };
  };
  expect(await one.accounts.tokens(account).refused(old, UNAUTHORIZED)).toEqual({ then: 'retry' });
  const token = await one.accounts.tokens(account).current();
  expect(token).not.toBe(old);
  expect(server.valid).toContain(token);
});

test('A-S: the token endpoint is discovered before the tokens are claimed for a refresh', async () => {
  const server = await handmadeServer();
  const { accounts, clock, store } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  clock.jump(60_000);
  const claim = vi.spyOn(store.accounts, 'claim');
  let claimsBefore = -1;
  server.intervene = ({ path }) => {
    if (path === '/token') claimsBefore = claim.mock.calls.length;
    else expect(claim).not.toHaveBeenCalled();
    return undefined;
  };
  expect(await accounts.tokens(account).refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  expect(claimsBefore).toBe(1);
});

test('A-26, A-S: a gateway that has lost its claim does not delete tokens that another gateway renews', async () => {
  const server = await handmadeServer();
  const { accounts, clock, store } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  clock.jump(60_000);
  server.intervene = async ({ path }) => {
    if (path !== '/token') return undefined;
    clock.jump(30_000);
    const [record] = await store.accounts.list('tokens', {}, clock.now());
    if (record) await store.accounts.claim(record, { by: 'another gateway', now: clock.now(), ms: 30_000 });
    return { status: 400, body: { error: 'invalid_grant' } };
  };
  await accounts.tokens(account).refused(token, UNAUTHORIZED);
  expect(await accounts.list()).toHaveLength(1);
});

test('A-S: if the renewed tokens are lost before they are stored, a new sign-in is needed', async () => {
  const server = await handmadeServer();
  const { accounts, clock } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  clock.jump(60_000);
  server.forgetRefreshTokens();
  const signIn = signInOf(await accounts.tokens(account).refused(token, UNAUTHORIZED));
  expect(await accounts.list()).toEqual([]);
  await accounts.complete(await comeBack(accounts, signIn));
  expect(server.valid).toContain(await accounts.tokens(account).current());
});

test('A-S: tokens issued while the store is away are used, and stored when the store is back', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const { accounts, clock, store, logs } = testAccounts(database);
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  clock.jump(60_000);
  const away = vi.spyOn(store.accounts, 'put').mockRejectedValue(new Error('the database is away'));
  expect(await accounts.tokens(account).refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  expect(logs.join('')).toContain('token_not_stored');
  const renewed = await accounts.tokens(account).current();
  expect(renewed).not.toBe(token);
  // News of changes may have been lost, and nothing is believed for long.
  for (const watcher of database.accounts.watchers.keys()) watcher();
  expect(await accounts.tokens(account).current()).toBe(renewed);
  clock.jump(60_000);
  expect(await accounts.tokens(account).current()).toBe(renewed);
  away.mockRestore();
  const other = testAccounts(database).accounts;
  expect(await other.tokens(account).current()).toBe(token);
  clock.jump(60_000);
  expect(await accounts.tokens(account).current()).toBe(renewed);
  expect(await testAccounts(database).accounts.tokens(account).current()).toBe(renewed);
  expect(server.askedFor('/token')).toHaveLength(2);
});

test('A-S: a sign-out also removes tokens that could not be stored', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const { accounts, clock, store } = testAccounts(database);
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  clock.jump(60_000);
  const away = vi.spyOn(store.accounts, 'put').mockRejectedValue(new Error('the database is away'));
  expect(await accounts.tokens(account).refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  away.mockRestore();
  expect(await testAccounts(database).accounts.signOut('ann', 'files')).toBe(true);
  expect(await accounts.tokens(account).current()).toBeUndefined();
  expect(await accounts.list()).toEqual([]);
});

test('A-S: the claim of a dead gateway expires soon', async () => {
  const server = await handmadeServer();
  const { accounts, clock, store } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  clock.jump(60_000);
  const [record] = await store.accounts.list('tokens', {}, clock.now());
  if (!record) throw new Error('no record');
  await store.accounts.claim(record, { by: randomUUID(), now: clock.now(), ms: 30_000 });
  const after = accounts.tokens(account).refused(token, UNAUTHORIZED);
  await vi.waitFor(() =>
    expect(server.askedFor('/.well-known/oauth-protected-resource/mcp').length).toBeGreaterThan(1),
  );
  expect(server.askedFor('/token')).toHaveLength(1);
  clock.jump(30_000);
  expect(await after).toEqual({ then: 'retry' });
  expect(server.askedFor('/token')).toHaveLength(2);
});

test('A-32: a server that requires more scopes gets the earlier scopes, too, and sign-ins are limited', async () => {
  const server = await handmadeServer();
  const { accounts } = testAccounts();
  const account = at(server.url);
  const tokens = accounts.tokens(account);
  let token = await signedIn(accounts, account, { status: 401, scope: 'read' });
  const insufficient = (scope: string): AuthChallenge => ({ status: 403, error: 'insufficient_scope', scope });
  const first = signInOf(await tokens.refused(token, insufficient('write')));
  expect(first.scopes).toEqual(['read', 'write']);
  await accounts.complete(await comeBack(accounts, first));
  // Another call was refused with the token of before.
  expect(await tokens.refused(token, insufficient('write'))).toEqual({ then: 'retry' });
  token = (await tokens.current()) ?? '';
  expect(await tokens.refused(token, insufficient('write'))).toEqual({
    then: 'fail',
    reason: expect.stringContaining('the scopes write'),
  });
  for (const scope of ['a', 'b']) {
    const next = signInOf(await tokens.refused(await tokens.current(), insufficient(scope)));
    expect(next.scopes).toContain('read');
    await accounts.complete(await comeBack(accounts, next));
  }
  expect(await tokens.refused(await tokens.current(), insufficient('c'))).toMatchObject({ then: 'fail' });
  // A refusal for another reason is none that a sign-in could change.
  expect(await tokens.refused(await tokens.current(), { status: 403 })).toMatchObject({ then: 'fail' });
});

test('A-S: a token that is refused right after it was issued is not renewed again and again', async () => {
  const server = await handmadeServer();
  const { accounts, clock } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  const tokens = accounts.tokens(account);
  expect(await tokens.refused(token, { status: 401, error: 'invalid_token' })).toEqual({
    then: 'fail',
    reason: expect.stringContaining('refuses the token'),
  });
  clock.jump(60_000);
  expect(await tokens.refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  // Renewed, and refused again: a person could not help either.
  expect(await tokens.refused(await tokens.current(), UNAUTHORIZED)).toMatchObject({ then: 'fail' });
});

test('A-32, A-Q: a server that refuses every token causes one sign-in, at all gateways and after a restart', async () => {
  const server = await handmadeServer();
  server.resourceMetadata = { scopes_supported: ['read'] };
  const database = new MemoryDatabase();
  const { accounts, clock } = testAccounts(database);
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  const after = await accounts.tokens(account).refused(token, { status: 401, error: 'invalid_token' });
  const reason = after.then === 'fail' ? after.reason : '';
  for (const part of [server.issuer, 'invalid_token', `resource ${server.url}`, 'scopes read', 'audience'])
    expect(reason).toContain(part);
  expect(reason).toContain('`meanwhile login files`');

  // A call that comes later, without a token that could be renewed, and at another gateway.
  server.forgetRefreshTokens();
  const other = testAccounts(database);
  for (const each of [{ accounts, clock }, other]) {
    each.clock.jump(3_700_000);
    const refused = await each.accounts.tokens(account).refused(undefined, UNAUTHORIZED);
    expect(refused).toMatchObject({ then: 'fail', reason: expect.stringContaining('`meanwhile login files`') });
  }
  expect(await accounts.list()).toEqual([]);
  // It is about this person, and this server.
  signInOf(await other.accounts.tokens(at(server.url, undefined, 'bob')).refused(undefined, UNAUTHORIZED));
  signInOf(await other.accounts.tokens({ ...account, server: 'mail' }).refused(undefined, UNAUTHORIZED));
  expect(server.askedFor('/authorize')).toHaveLength(1);

  // Somebody who wants to try again can, and then it counts again.
  const login = await other.accounts.signIn(account);
  expect(signInOf(await accounts.tokens(account).refused(undefined, UNAUTHORIZED)).id).toBe(login.id);
  await other.accounts.complete(await comeBack(other.accounts, login));
  const next = (await accounts.tokens(account).current()) ?? '';
  expect(await other.accounts.tokens(account).refused(next, UNAUTHORIZED)).toMatchObject({ then: 'fail' });
  // After a day the server may have been repaired.
  for (const each of [clock, other.clock]) each.jump(90_000_000);
  server.forgetRefreshTokens();
  signInOf(await accounts.tokens(account).refused(undefined, UNAUTHORIZED));
});

test('A-32: after a useless sign-in, a changed server or config allows a few more sign-ins', async () => {
  const [server, elsewhere] = [await handmadeServer(), await handmadeServer()];
  const inVain = async (): Promise<ReturnType<typeof testAccounts>> => {
    const test = testAccounts();
    const token = await signedIn(test.accounts, at(server.url));
    expect(await test.accounts.tokens(at(server.url)).refused(token, UNAUTHORIZED)).toMatchObject({ then: 'fail' });
    server.forgetRefreshTokens();
    test.clock.jump(3_700_000);
    return test;
  };
  const refused = async ({ accounts }: Awaited<ReturnType<typeof inVain>>, scope?: string, account = at(server.url)) =>
    (await accounts.tokens(account).refused(undefined, { status: 401, ...(scope !== undefined && { scope }) })).then;

  const byScope = await inVain();
  expect(await refused(byScope)).toBe('fail');
  for (const scope of ['a', 'b']) {
    const token = await signedIn(byScope.accounts, at(server.url), { status: 401, scope });
    expect((await byScope.accounts.tokens(at(server.url)).refused(token, { status: 401, scope })).then).toBe('fail');
    server.forgetRefreshTokens();
    byScope.clock.jump(3_700_000);
  }
  // It could want something else for ever.
  expect(await refused(byScope, 'c')).toBe('fail');

  expect(await refused(await inVain(), undefined, at(server.url, { scopes: ['admin'] }))).toBe('sign_in');
  expect(await refused(await inVain(), undefined, at(server.url, { clientId: 'known' }))).toBe('sign_in');
  const moved = await inVain();
  server.resourceMetadata = { authorization_servers: [elsewhere.issuer] };
  expect(await refused(moved)).toBe('sign_in');
});

test('A-S: removing a server deletes its tokens, and other servers and principals keep theirs', async () => {
  const [server, other] = [await handmadeServer(), await handmadeServer()];
  const database = new MemoryDatabase();
  const [one, two] = [testAccounts(database), testAccounts(database)];
  const stored = async (kind: 'client' | 'tokens' | 'sign_in' | 'refused') =>
    (await one.store.accounts.list(kind, {}, 0)).map(({ principal, server: name }) => `${principal} ${name}`);
  await signedIn(one.accounts, at(server.url));
  const bobs = await signedIn(one.accounts, at(server.url, undefined, 'bob'));
  // The same name is that of another server for somebody else, or was.
  await signedIn(one.accounts, at(other.url));
  await signedIn(one.accounts, { ...at(server.url), server: 'mail' });
  const waiting = await one.accounts.signIn(at(server.url));
  const refresh = server.askedFor('/token').length;

  await two.accounts.forgetServer('files', server.url, 'ann');
  expect(await one.accounts.tokens(at(server.url)).current()).toBeUndefined();
  expect(await one.accounts.findSignIn(waiting.id)).toBeUndefined();
  await vi.waitFor(() => expect(server.revoked).toEqual([expect.stringMatching(/^rt-/)]));
  expect(await one.accounts.tokens(at(server.url, undefined, 'bob')).current()).toBe(bobs);
  expect((await stored('tokens')).toSorted()).toEqual(['ann files', 'ann mail', 'bob files']);
  // Bob still uses the registration.
  expect(await stored('client')).toHaveLength(3);

  await two.accounts.forgetServer('files', server.url);
  await two.accounts.forgetServer('files', other.url);
  expect(await stored('tokens')).toEqual(['ann mail']);
  expect(await stored('client')).toEqual([' mail']);
  await vi.waitFor(() => expect([server.revoked.length, other.revoked.length]).toEqual([2, 1]));
  expect(server.askedFor('/token')).toHaveLength(refresh);
  // Also what keeps people from signing in in vain.
  const mail = one.accounts.tokens({ ...at(server.url), server: 'mail' });
  expect(await mail.refused(await mail.current(), UNAUTHORIZED)).toMatchObject({ then: 'fail' });
  expect(await stored('refused')).toEqual(['ann mail']);
  await one.accounts.forgetServer('mail', server.url);
  for (const kind of ['client', 'tokens', 'sign_in', 'refused'] as const) expect(await stored(kind)).toEqual([]);
});

test('A-S: an authorization server that does not respond does not delay a removal or sign-out for long', async () => {
  const server = await handmadeServer();
  const { accounts, clock, logs } = testAccounts();
  const account = at(server.url);
  await signedIn(accounts, account);
  server.intervene = async ({ path }) => (path === '/revoke' ? new Promise(() => {}) : undefined);
  await accounts.forgetServer('files', server.url, 'ann');
  expect(await accounts.list()).toEqual([]);
  await vi.waitFor(() => expect(server.askedFor('/revoke')).toHaveLength(1));
  clock.jump(10_000);
  await vi.waitFor(() => expect(logs.join('')).toContain('token_not_revoked'));

  server.intervene = () => undefined;
  await signedIn(accounts, account);
  server.intervene = async ({ path }) => (path === '/revoke' ? new Promise(() => {}) : undefined);
  const signingOut = accounts.signOut('ann', 'files');
  await vi.waitFor(() => expect(server.askedFor('/revoke')).toHaveLength(2));
  clock.jump(10_000);
  expect(await signingOut).toBe(true);
});

test('A-S: a sign-in that ends while its server is removed stores no tokens', async () => {
  const server = await handmadeServer();
  const { accounts } = testAccounts();
  const signIn = await accounts.signIn(at(server.url));
  const parameters = await comeBack(accounts, signIn);
  server.intervene = async ({ path }) => {
    if (path === '/token') await accounts.forgetServer('files', server.url);
    return undefined;
  };
  await expect(accounts.complete(parameters)).rejects.toThrow('is over');
  expect(await accounts.list()).toEqual([]);
  expect(server.revoked).toHaveLength(1);
});

test('A-S, A-26: unused client registrations are deleted, and made again when needed', async () => {
  const server = await handmadeServer();
  const { accounts, store, clock } = testAccounts();
  const registrations = async () => store.accounts.list('client', {}, clock.now());
  await signedIn(accounts, at(server.url));
  await signedIn(accounts, at(server.url, undefined, 'bob'));
  await accounts.signOut('ann', 'files');
  expect(await registrations()).toHaveLength(1);
  await accounts.signOut('bob', 'files');
  expect(await registrations()).toEqual([]);
  // One for a sign-in that nobody has finished goes by itself.
  await accounts.signIn(at(server.url));
  expect(await registrations()).toHaveLength(1);
  clock.jump(91 * 86_400_000);
  expect(await registrations()).toEqual([]);
  await signedIn(accounts, at(server.url));
  expect(server.askedFor('/register')).toHaveLength(3);
});

test('A-31, A-26: scopes of one server are not registered for another server at the same issuer', async () => {
  const [server, other] = [await handmadeServer(), await handmadeServer()];
  server.resourceMetadata = { scopes_supported: ['mail.read'] };
  other.resourceMetadata = { scopes_supported: ['files.write'], authorization_servers: [server.issuer] };
  const { accounts } = testAccounts();
  const files = { ...at(other.url), server: 'files' };
  await signedIn(accounts, { ...at(server.url), server: 'mail' });
  await signedIn(accounts, files);
  const insufficient: AuthChallenge = { status: 403, error: 'insufficient_scope', scope: 'admin' };
  const more = signInOf(await accounts.tokens(files).refused(await accounts.tokens(files).current(), insufficient));
  await accounts.complete(await comeBack(accounts, more));
  const scopes = server.askedFor('/register').map(({ body }) => (JSON.parse(body) as { scope: string }).scope);
  expect(scopes).toEqual(['mail.read', 'files.write', 'files.write admin']);
  expect(other.askedFor('/register')).toEqual([]);
});

test('A-S: tokens are kept while the authorization server is unavailable', async () => {
  const server = await handmadeServer();
  const { accounts, clock, logs } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  const tokens = accounts.tokens(account);
  server.intervene = ({ path }) => (path === '/token' ? { status: 503 } : undefined);
  clock.jump(3_600_000 - 30_000);
  expect(await tokens.current()).toBe(token);
  await vi.waitFor(() => expect(logs.join('')).toContain('token_not_renewed'));
  expect(await tokens.refused(token, UNAUTHORIZED)).toEqual({
    then: 'fail',
    reason: expect.stringContaining('status 503'),
  });
  server.intervene = () => undefined;
  expect(await tokens.refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
});

test('A-S: a client that the authorization server has forgotten is registered again', async () => {
  const server = await handmadeServer();
  const { accounts, clock } = testAccounts();
  const account = at(server.url);
  const token = await signedIn(accounts, account);
  clock.jump(60_000);
  server.intervene = ({ path }) => (path === '/token' ? { status: 401, body: { error: 'invalid_client' } } : undefined);
  const signIn = signInOf(await accounts.tokens(account).refused(token, UNAUTHORIZED));
  server.intervene = () => undefined;
  expect(server.askedFor('/register')).toHaveLength(2);
  await accounts.complete(await comeBack(accounts, signIn));
});

test('A-26: a rotated client secret is used for the next refresh, and a wrong secret does not delete the tokens', async () => {
  const server = await handmadeServer();
  const secretIn = ({ headers }: Asked): string =>
    Buffer.from(headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
  let secret = 'old';
  const issued = { access_token: 'at', refresh_token: 'rt', token_type: 'Bearer', expires_in: 3600 };
  server.intervene = (asked) => {
    if (asked.path !== '/token') return undefined;
    if (secretIn(asked) !== `app:${secret}`) return { status: 401, body: { error: 'invalid_client' } };
    return { body: { ...issued, access_token: `at-${server.askedFor('/token').length}` } };
  };
  const database = new MemoryDatabase();
  const { accounts, clock } = testAccounts(database);
  const account = (clientSecret: string) => at(server.url, { clientId: 'app', clientSecret });
  const token = await signedIn(accounts, account('old'));
  clock.jump(60_000);
  secret = 'new';
  expect(await accounts.tokens(account('old')).refused(token, UNAUTHORIZED)).toEqual({
    then: 'fail',
    reason: expect.stringContaining('check clientId and clientSecret in mcpServers.files.auth'),
  });
  expect(await accounts.list()).toHaveLength(1);
  // The operator corrects the config, and the gateway starts again.
  const next = testAccounts(database);
  next.clock.jump(120_000);
  expect(await next.accounts.tokens(account('new')).refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  expect(await next.accounts.tokens(account('new')).current()).toBe('at-3');
  // A secret for another authorization server stays away from the one that has issued the tokens.
  next.clock.jump(60_000);
  const elsewhere = at(server.url, { clientId: 'app', clientSecret: 'secret', issuer: 'https://login.example.com' });
  await next.accounts.tokens(elsewhere).refused('at-3', UNAUTHORIZED);
  expect(server.askedFor('/token').map(secretIn)).toEqual(['app:old', 'app:old', 'app:new', 'app:new']);
});

test('A-S: gateways are notified of sign-ins and sign-outs at each other, and tokens are revoked', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const [one, two] = [testAccounts(database), testAccounts(database)];
  const account = at(server.url);
  const heard = vi.fn();
  const stop = two.accounts.watch(heard);
  signInOf(await two.accounts.tokens(account).refused(undefined, UNAUTHORIZED));
  // The browser comes back to another gateway than the one that was asked.
  const token = await signedIn(one.accounts, account);
  expect(heard).toHaveBeenCalledWith('ann', 'files');
  expect(await two.accounts.tokens(account).current()).toBe(token);

  expect(await one.accounts.signOut('bob', 'files')).toBe(false);
  expect(await one.accounts.signOut('ann', 'files')).toBe(true);
  expect(await two.accounts.tokens(account).current()).toBeUndefined();
  expect(server.revoked).toEqual([expect.stringMatching(/^rt-/)]);
  expect(await one.accounts.signOut('ann', 'files')).toBe(false);
  stop();
  const calls = heard.mock.calls.length;
  await signedIn(one.accounts, account);
  expect(heard).toHaveBeenCalledTimes(calls);
});

test('A-S: a sign-out during a refresh deletes the renewed tokens, or fails', async () => {
  const server = await handmadeServer();
  const { accounts, store } = testAccounts();
  const account = at(server.url);
  await signedIn(accounts, account);
  const drop = vi.spyOn(store.accounts, 'drop').mockResolvedValueOnce(false);
  expect(await accounts.signOut('ann', 'files')).toBe(true);
  expect(await accounts.list()).toEqual([]);
  expect(await accounts.tokens(account).current()).toBeUndefined();
  drop.mockRestore();
  await signedIn(accounts, account);
  vi.spyOn(store.accounts, 'drop').mockResolvedValue(false);
  await expect(accounts.signOut('ann', 'files')).rejects.toThrow('sign out again');
});

test('A-S: a sign-out also deletes tokens that cannot be decrypted', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  await signedIn(testAccounts(database).accounts, at(server.url));
  const other = testAccounts(database, { keys: { encryptionKey: 'b'.repeat(64), store: ':memory:' } });
  expect(await other.accounts.signOut('ann', 'files')).toBe(false);
  expect(await other.store.accounts.list('tokens', {}, 0)).toEqual([]);
});

test('A-S: a sign-in at another gateway is noticed even without a notification', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const [one, two] = [testAccounts(database), testAccounts(database)];
  const account = at(server.url);
  const heard = vi.fn();
  two.accounts.watch(heard);
  const signIn = await two.accounts.signIn(account);
  database.accounts.watchers.clear();
  await one.accounts.complete(await comeBack(one.accounts, signIn));
  expect(heard).not.toHaveBeenCalled();
  two.clock.jump(5000);
  await vi.waitFor(() => expect(heard).toHaveBeenCalledWith('ann', 'files'));
  expect(server.valid).toContain(await two.accounts.tokens(account).current());
});

test('A-S: only a sign-in notifies waiting calls; a refresh, a sign-out and a lost notification do not', async () => {
  const server = await handmadeServer();
  const database = new MemoryDatabase();
  const [one, two] = [testAccounts(database), testAccounts(database)];
  const account = at(server.url);
  const token = await signedIn(one.accounts, account);
  expect(await two.accounts.tokens(account).current()).toBe(token);
  const heard = vi.fn();
  for (const { accounts } of [one, two]) accounts.watch(heard);
  const insufficient: AuthChallenge = { status: 403, error: 'insufficient_scope', scope: 'write' };
  const more = signInOf(await two.accounts.tokens(account).refused(token, insufficient));

  for (const { clock } of [one, two]) clock.jump(60_000);
  expect(await one.accounts.tokens(account).refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  const renewed = await one.accounts.tokens(account).current();
  expect(renewed).not.toBe(token);
  expect(await two.accounts.tokens(account).current()).toBe(renewed);
  for (const watcher of database.accounts.watchers.keys()) watcher();
  await one.accounts.signOut('ann', 'files');
  expect(await two.accounts.tokens(account).current()).toBeUndefined();
  expect(heard).not.toHaveBeenCalled();

  // The news of this one are lost, and the gateway looks for itself when it can hear again.
  const watchers = [...database.accounts.watchers.keys()];
  database.accounts.watchers.clear();
  await one.accounts.complete(await comeBack(one.accounts, more));
  expect(heard.mock.calls).toEqual([['ann', 'files']]);
  for (const watcher of watchers) watcher();
  await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(2));

  // One that nobody has finished in time is no sign-in.
  await two.accounts.signIn(account);
  two.clock.jump(3_600_000);
  for (const watcher of watchers) watcher();
  await two.accounts.list();
  expect(heard).toHaveBeenCalledTimes(2);
});

test('A-S: with shared: true all principals use one account', async () => {
  const server = await handmadeServer();
  const { accounts } = testAccounts();
  const heard = vi.fn();
  accounts.watch(heard);
  const shared = (principal: string) => accounts.tokens(at(server.url, { shared: true }, principal));
  expect(await shared('bob').current()).toBeUndefined();
  const token = await signedIn(accounts, at(server.url, { shared: true }));
  expect(heard.mock.calls.map(([principal]) => String(principal)).toSorted()).toEqual(['ann', 'bob']);
  expect(await shared('bob').current()).toBe(token);
  expect(await accounts.tokens(at(server.url, {}, 'bob')).current()).toBeUndefined();
  expect(await accounts.list()).toMatchObject([{ principal: '*', server: 'files' }]);
  expect(await accounts.list('bob')).toMatchObject([{ principal: '*', server: 'files' }]);
  expect(await accounts.signOut('*', 'files')).toBe(true);
  expect(await shared('bob').current()).toBeUndefined();
});

test('A-S: client credentials need no sign-in, and are renewed before they expire', async () => {
  const server = await handmadeServer();
  server.resourceMetadata = { scopes_supported: ['read'] };
  const issued = (token: string) => ({ body: { access_token: token, token_type: 'Bearer', expires_in: 3600 } });
  server.intervene = ({ path }) => (path === '/token' ? issued(`t${server.askedFor('/token').length}`) : undefined);
  const { accounts, clock, store } = testAccounts();
  const auth = { grant: 'client_credentials', clientId: 'robot', clientSecret: 'the secret' } as const;
  const tokens = accounts.tokens(at(server.url, auth));
  const calls = await Promise.all(Array.from({ length: 10 }, async () => tokens.current()));
  expect(new Set(calls)).toEqual(new Set(['t1']));
  expect(tokens.current()).toBe('t1');
  // It belongs to the gateway, not to one principal.
  expect(await accounts.tokens(at(server.url, auth, 'bob')).current()).toBe('t1');
  expect(server.askedFor('/token')[0]).toMatchObject({
    form: { grant_type: 'client_credentials', resource: server.url, scope: 'read' },
    headers: { authorization: `Basic ${Buffer.from('robot:the+secret').toString('base64')}` },
  });
  expect(await tokens.refused('t1', UNAUTHORIZED)).toMatchObject({ then: 'fail' });
  clock.jump(3_600_000 - 30_000);
  expect(await tokens.current()).toBe('t2');
  clock.jump(60_000);
  expect(await tokens.refused('t2', UNAUTHORIZED)).toEqual({ then: 'retry' });
  expect(await tokens.current()).toBe('t3');
  // More scopes are asked for once.
  const challenge: AuthChallenge = { status: 403, error: 'insufficient_scope', scope: 'write' };
  expect(await tokens.refused('t3', challenge)).toEqual({ then: 'retry' });
  expect(server.askedFor('/token').at(-1)?.form['scope']).toBe('read write');
  expect(await tokens.refused('t4', challenge)).toMatchObject({ then: 'fail' });
  expect(await store.accounts.list('tokens', {}, 0)).toEqual([]);
  await expect(accounts.signIn(at(server.url, auth))).rejects.toThrow('by itself');
});

test('A-S: a client can authenticate with a private key', async () => {
  const server = await handmadeServer();
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-auth-'));
  defer(async () => rm(folder, { recursive: true }));
  const privateKeyFile = join(folder, 'key.pem');
  await writeFile(privateKeyFile, await exportPKCS8(privateKey));
  server.intervene = ({ path }) =>
    path === '/token' ? { body: { access_token: 'issued', token_type: 'Bearer' } } : undefined;
  const auth = {
    grant: 'client_credentials',
    clientId: 'robot',
    privateKeyFile,
    keyId: 'k1',
    algorithm: 'ES256',
  } as const;
  expect(await testAccounts().accounts.tokens(at(server.url, auth)).current()).toBe('issued');
  const form: Record<string, string> = server.askedFor('/token')[0]?.form ?? {};
  expect(form['client_assertion_type']).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  const { payload, protectedHeader } = await jwtVerify(form['client_assertion'] ?? '', publicKey, {
    audience: server.issuer,
    issuer: 'robot',
    subject: 'robot',
  });
  expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: 'k1' });
  expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThanOrEqual(60);
  expect(form['client_secret']).toBeUndefined();
  await writeFile(privateKeyFile, 'no key');
  expect(await testAccounts().accounts.tokens(at(server.url, auth)).refused(undefined, UNAUTHORIZED)).toEqual({
    then: 'fail',
    reason: expect.stringContaining(`${privateKeyFile} cannot be used with ES256`),
  });
});

test('A-S: a server with its own credentials or auth: false gets no account', async () => {
  const server = await handmadeServer();
  const { accounts } = testAccounts();
  expect(await accounts.tokens(at(server.url, false)).refused(undefined, UNAUTHORIZED)).toMatchObject({ then: 'fail' });
  const own = { ...at(server.url), config: { url: server.url, headers: { Authorization: 'Bearer mine' } } };
  expect(await accounts.tokens(own).refused(undefined, UNAUTHORIZED)).toMatchObject({ then: 'fail' });
  expect(server.asked).toEqual([]);
  const { accounts: onStdio } = testAccounts(undefined, { redirectUri: () => undefined });
  expect(await onStdio.tokens(at(server.url)).refused(undefined, UNAUTHORIZED)).toEqual({
    then: 'fail',
    reason: expect.stringContaining('meanwhile serve'),
  });
});

test('A-S: the accounts are loaded only when a server needs them or tokens are stored', async () => {
  const server = await handmadeServer();
  const { accounts, store } = testAccounts();
  let loads = 0;
  const lazy = (): Accounts =>
    lazyAccounts({
      store: () => store.accounts,
      load: async () => {
        loads += 1;
        return accounts;
      },
    });
  const first = lazy();
  const heard = vi.fn();
  first.watch(heard);
  const tokens = first.tokens(at(server.url));
  expect(await tokens.current()).toBeUndefined();
  // From now on it answers at once.
  expect(tokens.current()).toBeUndefined();
  expect(loads).toBe(0);
  const token = await signedIn(first, at(server.url));
  expect(await tokens.current()).toBe(token);
  expect(loads).toBe(1);
  expect(heard).toHaveBeenCalledWith('ann', 'files');
  // The next start finds them.
  expect(await lazy().tokens(at(server.url)).current()).toBe(token);
  expect(loads).toBe(2);
});

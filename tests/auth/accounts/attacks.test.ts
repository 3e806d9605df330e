import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { clientMetadata } from '../../../src/auth/accounts/client-metadata.ts';
import { reachFor } from '../../../src/auth/accounts/reach.ts';
import { createSafeFetch } from '../../../src/auth/accounts/safe-fetch.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import { defer } from '../../support/owned.ts';
import { handmadeServer } from './handmade-server.ts';
import { at, comeBack, comeBackTo, signedIn, signInOf, testAccounts, UNAUTHORIZED } from './signing-in.ts';

/** Says what it was asked, and that should be nothing. */
async function victim(host: string): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url ?? '');
    res.end('{}');
  }).listen(0, host);
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, asked };
}

test('A-29: mix-up: a callback with a wrong or missing issuer is refused, and its error is not shown', async () => {
  const other = 'https://login.example.com';
  const table: [supported: boolean | undefined, iss: string | undefined, isAccepted: boolean][] = [
    [true, 'own', true],
    [true, undefined, false],
    [true, other, false],
    [true, 'slash', false],
    [undefined, 'own', true],
    [undefined, undefined, true],
    [undefined, other, false],
    [false, other, false],
  ];
  for (const [supported, named, isAccepted] of table) {
    const server = await handmadeServer();
    server.metadata = { authorization_response_iss_parameter_supported: supported };
    const iss = named === 'own' ? server.issuer : named === 'slash' ? `${server.issuer}/` : named;
    server.response = { iss };
    const { accounts } = testAccounts();
    const signIn = await accounts.signIn(at(server.url));
    const { searchParams: parameters, pathname } = await comeBackTo(accounts, signIn);
    if (isAccepted) {
      await accounts.complete(parameters, pathname);
      expect(server.askedFor('/token')).toHaveLength(1);
      continue;
    }
    parameters.set('error', 'access_denied');
    parameters.set('error_description', 'call this number');
    const failure = await accounts.complete(parameters, pathname).catch(String);
    expect(failure).toContain(`the response is not from ${server.issuer}`);
    expect(failure).not.toMatch(/this number|access_denied|login\.example/);
    expect(server.askedFor('/token')).toEqual([]);
  }
});

test('A-29, A-30: mix-up: an authorization server without iss in callbacks gets a redirect URI of its own', async () => {
  const [honest, evil] = [await handmadeServer(), await handmadeServer()];
  for (const server of [honest, evil]) {
    server.metadata = { authorization_response_iss_parameter_supported: undefined };
    server.response = { iss: undefined };
  }
  const { accounts } = testAccounts();
  const uris = async (url: string): Promise<string> => {
    const page = await accounts.authorizationUrl((await accounts.signIn(at(url))).id);
    return page.searchParams.get('redirect_uri') ?? '';
  };
  const [own, others] = [await uris(honest.url), await uris(evil.url)];
  expect(own).toMatch(/^http:\/\/127\.0\.0\.1:8080\/oauth\/callback\/[\w-]{43}$/);
  expect(others).not.toBe(own);
  expect(honest.askedFor('/register')[0]?.body).toContain(`"redirect_uris":["${own}"]`);

  // The evil one leads the browser on to the honest one, with the state of the sign-in at the evil one.
  const atEvil = await accounts.authorizationUrl((await accounts.signIn(at(evil.url))).id);
  const detour = new URL('/authorize', honest.issuer);
  for (const [name, value] of atEvil.searchParams) detour.searchParams.set(name, value);
  detour.searchParams.set('redirect_uri', own);
  const response = await fetch(detour, { redirect: 'manual' });
  const { searchParams, pathname } = new URL(response.headers.get('location') ?? '');
  await expect(accounts.complete(searchParams, pathname)).rejects.toThrow(`the response is not from ${evil.issuer}`);
  expect(evil.askedFor('/token')).toEqual([]);

  const { searchParams: good, pathname: path } = await comeBackTo(accounts, await accounts.signIn(at(honest.url)));
  await accounts.complete(good, path);
  expect(honest.askedFor('/token')[0]?.form['redirect_uri']).toBe(own);
});

test('A-24, A-30: mix-up: a metadata document gets a redirect URI per issuer, and a configured client the common one', async () => {
  const server = await handmadeServer();
  server.metadata = {
    authorization_response_iss_parameter_supported: undefined,
    client_id_metadata_document_supported: true,
  };
  const publicUrl = 'https://gateway.example.com';
  const callback = `${publicUrl}/oauth/callback`;
  const { accounts } = testAccounts(undefined, { publicUrl, redirectUri: () => callback });
  const page = async (auth?: Parameters<typeof at>[1]): Promise<URLSearchParams> =>
    (await accounts.authorizationUrl((await accounts.signIn(at(server.url, auth, JSON.stringify(auth)))).id))
      .searchParams;
  const byDocument = await page();
  const [, segment] = /\/oauth\/client-metadata\/([\w-]{43})\.json$/.exec(byDocument.get('client_id') ?? '') ?? [];
  expect(byDocument.get('redirect_uri')).toBe(`${callback}/${segment}`);
  expect(clientMetadata(publicUrl, segment)).toMatchObject({
    client_id: byDocument.get('client_id'),
    redirect_uris: [`${callback}/${segment}`],
  });
  expect((await page({ clientId: 'known' })).get('redirect_uri')).toBe(callback);
  expect((await page({ clientMetadataUrl: 'https://example.com/me.json' })).get('redirect_uri')).toBe(callback);
});

test('A-30: replayed state: a callback is accepted once, and only with the state of a pending sign-in', async () => {
  const server = await handmadeServer();
  const { accounts, clock } = testAccounts();
  const signIn = await accounts.signIn(at(server.url));
  const parameters = await comeBack(accounts, signIn);
  const state = parameters.get('state') ?? '';
  const wrong = [state.slice(0, -1), `${state}x`, signIn.id, '', state.split('.')[0] ?? '', `${signIn.id}.x`];
  for (const each of wrong) {
    await expect(accounts.complete(new URLSearchParams({ code: 'c', state: each }))).rejects.toThrow('is over');
  }
  await expect(accounts.complete(new URLSearchParams({ code: 'c' }))).rejects.toThrow('is over');
  await expect(accounts.complete(new URLSearchParams(`${String(parameters)}&code=other`))).rejects.toThrow('several');
  const both = await Promise.allSettled([accounts.complete(parameters), accounts.complete(parameters)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  await expect(accounts.complete(parameters)).rejects.toThrow('is over');
  expect(server.askedFor('/token')).toHaveLength(1);

  const late = await accounts.signIn(at(server.url));
  const lateParameters = await comeBack(accounts, late);
  clock.jump(3_600_000);
  await expect(accounts.complete(lateParameters)).rejects.toThrow('is over');
  expect(await accounts.findSignIn(late.id)).toBeUndefined();
});

test('A-30: a person whose sign-in was refused can use the link again', async () => {
  const server = await handmadeServer();
  const { accounts } = testAccounts();
  const signIn = await accounts.signIn(at(server.url));
  const first = await accounts.authorizationUrl(signIn.id);
  server.response = { code: undefined, error: 'access_denied', error_description: 'You said no.' };
  await expect(accounts.complete(await comeBack(accounts, signIn))).rejects.toThrow('access_denied: You said no.');
  server.response = {};
  const second = await accounts.authorizationUrl(signIn.id);
  for (const name of ['state', 'code_challenge'])
    expect(second.searchParams.get(name)).not.toBe(first.searchParams.get(name));
  expect(await accounts.complete(await comeBack(accounts, signIn))).toEqual(signIn);
});

test('A-33: token passthrough: another server with the same name or another principal does not get the token', async () => {
  const [server, other] = [await handmadeServer(), await handmadeServer()];
  const { accounts } = testAccounts();
  await signedIn(accounts, at(server.url));
  expect(await accounts.tokens(at(other.url)).current()).toBeUndefined();
  expect(await accounts.tokens(at(`${server.url}/deeper`)).current()).toBeUndefined();
  expect(await accounts.tokens(at(server.url, undefined, 'bob')).current()).toBeUndefined();
  expect(await accounts.tokens({ ...at(server.url), server: 'mail' }).current()).toBeUndefined();
});

test('A-33: credentials in the config are not sent if their authorization server cannot be decrypted', async () => {
  const server = await handmadeServer();
  server.intervene = ({ path }) =>
    path === '/token' ? { body: { access_token: 'issued', token_type: 'Bearer' } } : undefined;
  const database = new MemoryDatabase();
  const auth = { clientId: 'app', clientSecret: 'secret' };
  await signedIn(testAccounts(database).accounts, at(server.url, auth));
  const other = testAccounts(database, { keys: { encryptionKey: 'b'.repeat(64), store: ':memory:' } });
  await expect(other.accounts.signIn(at(server.url, auth))).rejects.toThrow('set mcpServers.files.auth.issuer');
  await other.accounts.signIn(at(server.url, { ...auth, issuer: server.issuer }));
});

test('A-36: open redirect: browsers are sent only to web pages and back to the gateway', async () => {
  const server = await handmadeServer();
  for (const endpoint of ['javascript:alert(1)', 'file:///etc/passwd', 'http://login.example.com/authorize', 'x', 5]) {
    server.metadata = { authorization_endpoint: endpoint };
    const after = await testAccounts().accounts.tokens(at(server.url)).refused(undefined, UNAUTHORIZED);
    expect(after, String(endpoint)).toMatchObject({ then: 'fail', reason: expect.stringContaining('https://') });
  }
  // What the endpoint has in its query does not override what the gateway asks for.
  const { origin } = new URL(server.url);
  server.metadata = { authorization_endpoint: `${origin}/authorize?redirect_uri=https://evil.example.com&audience=a` };
  const { accounts } = testAccounts();
  const url = await accounts.authorizationUrl((await accounts.signIn(at(server.url))).id);
  expect(url.searchParams.getAll('redirect_uri')).toEqual(['http://127.0.0.1:8080/oauth/callback']);
  expect(url.searchParams.get('audience')).toBe('a');
});

test('A-35: metadata SSRF: metadata of a public server may lead to public addresses only', async () => {
  const outside = 'https://93.184.216.34/mcp';
  const inside = 'https://10.0.0.5/mcp';
  const notForServers = ['169.254.169.254', 'fe80::1', '0.0.0.0', '224.0.0.1', '::ffff:169.254.169.254'];
  const addresses = ['127.0.0.1', '::1', '10.1.2.3', '192.168.1.1', '172.16.0.1', 'fd00::1', '::ffff:10.0.0.1'];
  const fromOutside = await reachFor({ config: { url: outside } });
  const fromInside = await reachFor({ config: { url: inside } });
  const trusting = await reachFor({
    config: { url: outside, auth: { grant: 'authorization_code', issuer: 'https://login.internal/' } },
  });
  const ofClient = await reachFor({ config: { url: inside }, forClients: ['10.0.0.0/16'] });
  for (const mayReach of [fromOutside, fromInside, trusting, ofClient]) {
    expect(mayReach('93.184.216.34', 'login.example.com')).toBe(true);
    for (const address of notForServers) expect(mayReach(address, 'login.internal'), address).toBe(false);
  }
  for (const address of addresses) {
    expect(fromOutside(address, 'x'), address).toBe(false);
    expect(fromInside(address, 'x'), address).toBe(true);
    // The operator has named the host.
    expect(trusting(address, 'login.internal'), address).toBe(true);
    expect(trusting(address, 'x'), address).toBe(false);
    expect(ofClient(address, 'x'), address).toBe(address.endsWith('10.0.0.1'));
  }
});

test('A-35: metadata SSRF: no request goes to an address that is not allowed, under any name', async () => {
  const server = await handmadeServer();
  const hidden = await victim('::1');
  const { accounts } = testAccounts(undefined, { addServerAddresses: ['127.0.0.1'] });
  const named = hidden.url.replace('[::1]', 'localhost');
  for (const url of [hidden.url, named]) {
    for (const change of [
      { resourceMetadata: { authorization_servers: [url] } },
      { metadata: { registration_endpoint: `${url}/register` } },
    ]) {
      Object.assign(server, { resourceMetadata: {}, metadata: {} }, change);
      const after = await accounts.tokens(at(server.url)).refused(undefined, UNAUTHORIZED);
      if (url === hidden.url)
        expect(after).toMatchObject({ then: 'fail', reason: expect.stringContaining('not at a public address') });
      else expect(after).toMatchObject({ then: 'fail' });
    }
  }
  expect(hidden.asked).toEqual([]);
});

test('A-35: redirects are not followed, and credentials are not sent on', async () => {
  const server = await handmadeServer();
  const hidden = await victim('127.0.0.1');
  const { accounts } = testAccounts();
  const account = at(server.url);
  for (const path of ['/.well-known/oauth-authorization-server', '/register']) {
    server.intervene = (asked) => (asked.path === path ? { status: 307, location: hidden.url } : undefined);
    const after = await accounts.tokens(account).refused(undefined, UNAUTHORIZED);
    expect(after, path).toMatchObject({ then: 'fail', reason: expect.stringContaining('not followed') });
  }
  server.intervene = (asked) => (asked.path === '/token' ? { status: 307, location: '/elsewhere' } : undefined);
  const signIn = signInOf(await accounts.tokens(account).refused(undefined, UNAUTHORIZED));
  await expect(accounts.complete(await comeBack(accounts, signIn))).rejects.toThrow('not followed');
  expect([hidden.asked, server.askedFor('/elsewhere')]).toEqual([[], []]);
  // A document may have moved within its origin.
  server.intervene = () => undefined;
  const document = '/.well-known/oauth-authorization-server';
  const metadata: unknown = await (await fetch(`${server.issuer}${document}`)).json();
  server.intervene = ({ path }) => {
    if (path === document) return { status: 302, location: '/moved' };
    return path === '/moved' ? { body: metadata } : undefined;
  };
  await accounts.complete(await comeBack(accounts, await accounts.signIn(at(server.url, undefined, 'bob'))));
  server.intervene = ({ path }) =>
    path.startsWith('/.well-known/oauth-a') ? { status: 302, location: path } : undefined;
  await expect(accounts.signIn(at(server.url, undefined, 'eve'))).rejects.toThrow('not followed');
});

test('A-35: requests to other machines need https, and responses are limited in size and time', async () => {
  const server = await handmadeServer();
  const safeFetch = createSafeFetch({ mayReach: () => true });
  for (const url of ['http://login.example.com/', 'ftp://127.0.0.1/', 'file:///etc/passwd', 'https://u:p@127.0.0.1/'])
    await expect(safeFetch(url), url).rejects.toThrow(/https|not a URL|credentials/);
  server.intervene = ({ path }) => (path === '/large' ? { body: 'x'.repeat(1_100_000) } : undefined);
  await expect(safeFetch(`${server.issuer}/large`)).rejects.toThrow('more than 1048576 bytes');
  server.intervene = async () => new Promise(() => {});
  const hasty = createSafeFetch({ mayReach: () => true, timeoutMs: 500 });
  await expect(hasty(`${server.issuer}/slow?secret=1`)).rejects.toThrow(/slow cannot be reached: no response in time/);
});

test('A-12: the store and the log contain no token, code, secret or verifier as plain text', async () => {
  const server = await handmadeServer();
  server.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
  const { accounts, store, logs, clock } = testAccounts();
  const account = at(server.url);
  const signIn = signInOf(await accounts.tokens(account).refused(undefined, UNAUTHORIZED));
  const parameters = await comeBack(accounts, signIn);
  const dump = async (): Promise<string> =>
    JSON.stringify(
      await Promise.all(
        (['client', 'sign_in', 'tokens'] as const).map(async (kind) => store.accounts.list(kind, {}, 0)),
      ),
    );
  const before = await dump();
  const token = (await accounts.complete(parameters), await accounts.tokens(account).current()) ?? '';
  clock.jump(60_000);
  await accounts.tokens(account).refused(token, UNAUTHORIZED);
  const form: Record<string, string> = server.askedFor('/token')[0]?.form ?? {};
  const secrets = [token, form['code'], form['code_verifier'], form['client_secret'], signIn.id];
  const everything = `${before}${await dump()}${logs.join('')}`;
  for (const secret of secrets) {
    expect(secret?.length).toBeGreaterThan(8);
    expect(everything).not.toContain(secret);
  }
});

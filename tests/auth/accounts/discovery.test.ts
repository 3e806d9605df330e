import { expect, test } from 'vitest';
import type { AccountAt, AuthChallenge } from '../../../src/core/ports/accounts.ts';
import { handmadeServer, type HandmadeServer } from './handmade-server.ts';
import { at, comeBack, REDIRECT_URI, signedIn, signInOf, testAccounts, UNAUTHORIZED } from './signing-in.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

const paths = ({ asked }: HandmadeServer): string[] => asked.map(({ path }) => path.split('?')[0] ?? '');

async function reasonFor(account: AccountAt, challenge: AuthChallenge = UNAUTHORIZED): Promise<string> {
  const after = await testAccounts().accounts.tokens(account).refused(undefined, challenge);
  if (after.then !== 'fail') throw new Error(`not refused: ${JSON.stringify(after)}`);
  return after.reason;
}

test('A-20: the resource metadata is read from the URL in the challenge, the path of the server, or the root', async () => {
  const server = await handmadeServer();
  const resourceMetadata = `${new URL(server.url).origin}/somewhere/else`;
  const described = { resource: server.url, authorization_servers: [server.issuer] };
  server.intervene = ({ path }) => (path === '/somewhere/else' ? { body: described } : undefined);
  await signedIn(testAccounts().accounts, at(server.url), { status: 401, resourceMetadata });
  expect(paths(server)[0]).toBe('/somewhere/else');
  expect(paths(server)).not.toContain(`${WELL_KNOWN}/mcp`);

  server.asked.length = 0;
  server.withoutResourceMetadata = true;
  server.intervene = ({ path }) => (path === WELL_KNOWN ? { body: described } : undefined);
  await signedIn(testAccounts().accounts, at(server.url), { status: 401, resourceMetadata });
  expect(paths(server).slice(0, 3)).toEqual(['/somewhere/else', `${WELL_KNOWN}/mcp`, WELL_KNOWN]);
});

test('A-21: the metadata of an issuer with a path is read from three URLs in order', async () => {
  const server = await handmadeServer({ path: '/tenant' });
  const places = [
    '/.well-known/oauth-authorization-server/tenant',
    '/.well-known/openid-configuration/tenant',
    '/tenant/.well-known/openid-configuration',
  ];
  const origin = new URL(server.issuer).origin;
  const metadata = {
    issuer: server.issuer,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
  };
  for (const [index, place] of places.entries()) {
    server.asked.length = 0;
    server.intervene = ({ path }) => {
      if (!places.includes(path)) return undefined;
      return path === place ? { body: metadata } : { status: 404 };
    };
    await signedIn(testAccounts().accounts, at(server.url));
    expect(
      paths(server)
        .filter((path) => places.includes(path))
        .slice(0, index + 1),
    ).toEqual(places.slice(0, index + 1));
  }
});

test('A-22: metadata of another issuer is refused, even if only slash or case differ', async () => {
  const server = await handmadeServer({ path: '/tenant' });
  for (const issuer of [`${server.issuer}/`, server.issuer.toUpperCase(), 'https://login.example.com', undefined]) {
    server.metadata = { issuer };
    expect(await reasonFor(at(server.url))).toContain('is the metadata of issuer');
  }
  expect(server.askedFor('/register')).toEqual([]);
});

test('A-22: a trailing slash of an issuer without a path is ignored', async () => {
  const server = await handmadeServer();
  server.resourceMetadata = { authorization_servers: [`${server.issuer}/`] };
  const { accounts } = testAccounts();
  const signIn = await accounts.signIn(at(server.url));
  expect(signIn.issuer).toBe(server.issuer);
  await accounts.complete(await comeBack(accounts, signIn));
});

test('A-20, A-28: a server without resource metadata is its own authorization server, and tokens name its resource', async () => {
  const server = await handmadeServer();
  server.withoutResourceMetadata = true;
  const { accounts } = testAccounts();
  const signIn = await accounts.signIn(at(server.url));
  expect((await accounts.authorizationUrl(signIn.id)).searchParams.get('resource')).toBe(server.url);
  await accounts.complete(await comeBack(accounts, signIn));
  expect(server.askedFor('/token')[0]?.form['resource']).toBe(server.url);

  const { origin } = new URL(server.url);
  const atRoot = await accounts.signIn(at(`${origin}/`));
  expect((await accounts.authorizationUrl(atRoot.id)).searchParams.get('resource')).toBe(origin);
});

test('A-27: an authorization server without PKCE support in its metadata is refused, unless the config allows it', async () => {
  const server = await handmadeServer();
  for (const methods of [undefined, [], ['plain']]) {
    server.metadata = { code_challenge_methods_supported: methods };
    expect(await reasonFor(at(server.url))).toContain('mcpServers.files.auth.allowWithoutPkce');
  }
  // One without any metadata cannot say it either.
  server.withoutResourceMetadata = true;
  server.intervene = ({ path }) => (path.startsWith('/.well-known/') ? { status: 404 } : undefined);
  const unnamed = await reasonFor(at(server.url));
  expect(unnamed).toContain("'files' refuses with 401 and names no authorization server");
  expect(unnamed).toContain('mcpServers.files.auth.issuer');
  server.response = { iss: undefined };
  await signedIn(testAccounts().accounts, at(server.url, { allowWithoutPkce: true }));
  expect(server.askedFor('/token')[0]?.form['code_verifier']).toMatch(/^[\w-]{43,128}$/);
});

test('A-33, A-28: metadata of another resource is refused', async () => {
  const server = await handmadeServer();
  const { origin } = new URL(server.url);
  for (const resource of ['https://mail.example.com/mcp', `${origin}/mcp/deeper`, `${origin}/mc`, 'mcp', undefined]) {
    server.resourceMetadata = { resource };
    expect(await reasonFor(at(server.url))).toContain('describes the resource');
  }
  // That of the whole origin covers the server, and is sent as it is.
  server.resourceMetadata = { resource: `${origin}/` };
  await signedIn(testAccounts().accounts, at(server.url));
  expect(server.askedFor('/token')[0]?.form['resource']).toBe(`${origin}/`);
});

test('A-21: an error of an authorization server does not count as missing metadata', async () => {
  const server = await handmadeServer();
  server.intervene = ({ path }) => (path.startsWith('/.well-known/') ? { status: 503 } : undefined);
  expect(await reasonFor(at(server.url))).toContain('status 503');
  server.intervene = ({ path }) => (path.includes('authorization-server') ? { status: 500 } : undefined);
  expect(await reasonFor(at(server.url))).toContain('status 500');
});

test('A-23: a client in the config is used first, with each authentication method', async () => {
  const server = await handmadeServer();
  const ways = {
    client_secret_basic: { authorization: expect.stringMatching(/^Basic /), secret: undefined },
    client_secret_post: { authorization: undefined, secret: 's' },
    none: { authorization: undefined, secret: undefined },
  };
  for (const [method, { authorization, secret }] of Object.entries(ways)) {
    server.asked.length = 0;
    server.metadata = { token_endpoint_auth_methods_supported: [method] };
    server.intervene = ({ path }) =>
      path === '/token' ? { body: { access_token: 'issued', token_type: 'bearer' } } : undefined;
    const { accounts } = testAccounts();
    const account = at(server.url, { clientId: 'known', ...(method !== 'none' && { clientSecret: 's' }) });
    const signIn = await accounts.signIn(account);
    expect((await accounts.authorizationUrl(signIn.id)).searchParams.get('client_id')).toBe('known');
    await accounts.complete(await comeBack(accounts, signIn));
    expect(server.askedFor('/register')).toEqual([]);
    const [asked] = server.askedFor('/token');
    expect(asked?.headers.authorization, method).toEqual(authorization);
    expect(asked?.form['client_secret'], method).toEqual(secret);
    expect(await accounts.tokens(account).current()).toBe('issued');
  }
});

test('A-24: with a public URL the client ID of the gateway is its metadata document', async () => {
  const server = await handmadeServer();
  server.metadata = { client_id_metadata_document_supported: true };
  const publicUrl = 'https://gateway.example.com';
  const { accounts } = testAccounts(undefined, { publicUrl, redirectUri: () => `${publicUrl}/oauth/callback` });
  const signIn = await accounts.signIn(at(server.url));
  const { searchParams } = await accounts.authorizationUrl(signIn.id);
  expect(searchParams.get('client_id')).toBe(`${publicUrl}/oauth/client-metadata.json`);
  expect(server.askedFor('/register')).toEqual([]);
  // Without https, nobody could believe what it says there.
  const local = testAccounts(undefined, { publicUrl: 'http://gateway.example.com' });
  await local.accounts.signIn(at(server.url));
  expect(server.askedFor('/register')).toHaveLength(1);
});

test('A-25: a refused registration is repeated without scopes, and then fails with the reason', async () => {
  const server = await handmadeServer();
  server.resourceMetadata = { scopes_supported: ['read'] };
  const refusal = { error: 'invalid_client_metadata', error_description: 'no \u001b[31mscopes' };
  server.intervene = ({ path, body }) =>
    path === '/register' && body.includes('"scope"') ? { status: 400, body: refusal } : undefined;
  await signedIn(testAccounts().accounts, at(server.url));
  server.intervene = ({ path }) => (path === '/register' ? { status: 403, body: refusal } : undefined);
  const reason = await reasonFor(at(server.url));
  expect(reason).toContain(`invalid_client_metadata: no`);
  expect(reason).toContain(REDIRECT_URI);
  expect(reason).not.toContain('\u001b');
});

test('A-23: if registration is impossible, the error says what to configure', async () => {
  const server = await handmadeServer();
  server.metadata = { registration_endpoint: undefined };
  const reason = await reasonFor(at(server.url));
  expect(reason).toContain(REDIRECT_URI);
  expect(reason).toContain('mcpServers.files.auth.clientId');
});

test('A-26: a client registration belongs to one issuer, and all principals use it', async () => {
  const [one, two] = [await handmadeServer(), await handmadeServer()];
  const { accounts } = testAccounts();
  await signedIn(accounts, at(one.url));
  await signedIn(accounts, at(one.url, undefined, 'bob'));
  expect(one.askedFor('/register')).toHaveLength(1);
  // The server moves to another authorization server: nothing of the first one goes there.
  const { accounts: moved, clock } = testAccounts();
  const token = await signedIn(moved, at(one.url));
  one.resourceMetadata = { authorization_servers: [two.issuer] };
  clock.jump(60_000);
  const before = one.askedFor('/token').length;
  const signIn = signInOf(await moved.tokens(at(one.url)).refused(token, UNAUTHORIZED));
  expect(signIn.issuer).toBe(two.issuer);
  await moved.complete(await comeBack(moved, signIn));
  expect(two.askedFor('/register')).toHaveLength(1);
  expect(one.askedFor('/token')).toHaveLength(before);
  expect(two.valid).toContain(await moved.tokens(at(one.url)).current());
});

test('A-26: a client in the config is used with one authorization server only', async () => {
  const [one, two] = [await handmadeServer(), await handmadeServer()];
  const account = at(one.url, { clientId: 'known', clientSecret: 'the-secret' });
  const { accounts } = testAccounts();
  expect((await accounts.signIn(account)).issuer).toBe(one.issuer);
  one.resourceMetadata = { authorization_servers: [two.issuer] };
  const other = { ...account, principal: 'bob' };
  const after = await accounts.tokens(other).refused(undefined, UNAUTHORIZED);
  expect(after).toEqual({ then: 'fail', reason: expect.stringContaining('mcpServers.files.auth.issuer') });
  const named = at(one.url, { clientId: 'known', clientSecret: 'the-secret', issuer: one.issuer }, 'eve');
  expect(await accounts.tokens(named).refused(undefined, UNAUTHORIZED)).toEqual({
    then: 'fail',
    reason: expect.stringContaining(`auth.issuer is ${one.issuer}`),
  });
  expect(JSON.stringify(two.asked)).not.toContain('the-secret');
});

test('A-31: the scopes are those of the challenge, else those of the server, else none', async () => {
  const server = await handmadeServer();
  const scopes = async (challenge: AuthChallenge, wanted?: string[]): Promise<readonly string[]> =>
    (await testAccounts().accounts.signIn(at(server.url, wanted && { scopes: wanted }), challenge)).scopes;
  expect(await scopes(UNAUTHORIZED)).toEqual([]);
  server.resourceMetadata = { scopes_supported: ['read', 'write'] };
  expect(await scopes(UNAUTHORIZED)).toEqual(['read', 'write']);
  expect(await scopes({ status: 401, scope: 'read  admin' })).toEqual(['read', 'admin']);
  expect(await scopes(UNAUTHORIZED, ['read'])).toEqual(['read']);
  expect(await scopes({ status: 401, scope: 'admin' }, ['read'])).toEqual(['read', 'admin']);
});

test('A-34: offline_access is requested if the authorization server supports it', async () => {
  const server = await handmadeServer();
  server.metadata = { scopes_supported: ['read', 'offline_access'] };
  server.resourceMetadata = { scopes_supported: ['read'] };
  const { accounts } = testAccounts();
  const { searchParams } = await accounts.authorizationUrl((await accounts.signIn(at(server.url))).id);
  expect([searchParams.get('scope'), searchParams.get('prompt')]).toEqual(['read offline_access', 'consent']);
  // Without scopes there is nothing to add to.
  server.resourceMetadata = {};
  expect((await testAccounts().accounts.signIn(at(server.url))).scopes).toEqual([]);
});

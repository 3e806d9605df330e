/** People sign in to the console with an authorization server. */
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { startV1Http } from '../servers/v1-http.ts';
import { codeOf, ConsolePerson, JSON_HEADERS, raw } from '../support/console.ts';
import { httpGateway, temporaryFolder, testConfig, type SettingsInput, type TestGateway } from '../support/gateway.ts';
import { owned } from '../support/owned.ts';
import { TestClock } from '../support/test-clock.ts';
import { join } from 'node:path';
import { HttpBrowser, type Visited } from './http-browser.ts';
import { handmadeIssuer, type HandmadeIssuer } from './issuer.ts';
import { startLoginServer, type LoginServer } from './login-server.ts';

const PUBLIC_URL = 'https://gateway.example.com';
const CALLBACK = `${PUBLIC_URL}/console/callback`;

const isConsole = (url: string): boolean => /\/console(?:#|$)/.test(url);

/** A browser at the console of a gateway, behind a proxy with TLS. */
class Visitor {
  readonly browser: HttpBrowser;
  readonly gateway: TestGateway;
  readonly base: string;

  constructor(gateway: TestGateway, base = PUBLIC_URL, browser = new HttpBrowser()) {
    this.browser = browser;
    this.gateway = gateway;
    this.base = base;
    browser.behind[base] = new URL(gateway.url).origin;
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Visited> {
    return this.browser.send(`${this.base}${path}`, {
      method: 'POST',
      headers: { ...JSON_HEADERS, origin: this.base, ...headers },
      body: JSON.stringify(body),
    });
  }

  /** Presses the button; the address of the issuer. */
  async begin(issuer: string, to?: string): Promise<URL> {
    const { status, text } = await this.post('/console/sign-in/begin', { issuer, ...(to !== undefined && { to }) });
    expect(status, text).toBe(200);
    return new URL((JSON.parse(text) as { url: string }).url);
  }

  /** Signs in at the page of a real authorization server; where the browser is then. */
  async signInAs(name: string, { issuer }: Pick<LoginServer, 'issuer'>, to?: string): Promise<Visited> {
    const page = await this.browser.open((await this.begin(issuer, to)).href, {}, isConsole);
    if (isConsole(page.url)) return page;
    return this.browser.submit(page, { login: name, password: 'any' }, isConsole);
  }

  /** Comes back from an issuer. */
  async arrive(parameters: Record<string, string>): Promise<Visited> {
    return this.browser.send(`${CALLBACK}?${new URLSearchParams(parameters).toString()}`);
  }

  /** What the page does with the key in its address. */
  async enter({ url }: Pick<Visited, 'url'>): Promise<ConsolePerson> {
    const { status, text } = await this.post('/console/sign-in', { key: keyIn(url), fromLink: true });
    expect(status, text).toBe(200);
    const pageKey = (JSON.parse(text) as { pageKey: string }).pageKey;
    const cookie = this.browser.cookiesFor(`${this.base}/`);
    return new ConsolePerson(this.gateway, { cookie, 'meanwhile-console': pageKey, host: new URL(this.base).host });
  }
}

const keyIn = (url: string): string => /#key=([\w-]+)/.exec(url)?.[1] ?? '';

function settingsFor(issuer: string, client: object, more: SettingsInput = {}): SettingsInput {
  return { publicUrl: PUBLIC_URL, auth: { issuers: [{ issuer, console: { title: 'Example', ...client } }], ...more } };
}

async function realSetup(more?: SettingsInput): Promise<{ visitor: Visitor; server: LoginServer }> {
  const server = await startLoginServer(PUBLIC_URL);
  const gateway = await httpGateway({}, settingsFor(server.issuer, server.client, more));
  return { visitor: new Visitor(gateway), server };
}

/** With an issuer that says what the test wants. */
async function handmadeSetup(
  client: object = {},
  more?: SettingsInput,
  clock?: TestClock,
): Promise<{ visitor: Visitor; issuer: HandmadeIssuer }> {
  const issuer = await handmadeIssuer('console');
  const settings = settingsFor(issuer.url, { clientId: 'console', ...client }, more);
  const gateway = await httpGateway({}, settings, clock);
  return { visitor: new Visitor(gateway), issuer };
}

interface Attempt {
  state: string;
  nonce: string;
}

async function attempt(visitor: Visitor, { url }: HandmadeIssuer, to?: string): Promise<Attempt> {
  const { searchParams } = await visitor.begin(url, to);
  return { state: searchParams.get('state') ?? '', nonce: searchParams.get('nonce') ?? '' };
}

/** What the issuer answers for a code. */
function grant(
  issuer: HandmadeIssuer,
  idToken: string | undefined,
  scope: string | undefined = 'mcp:use mcp:answer',
): void {
  issuer.tokenAnswer = {
    status: 200,
    body: { token_type: 'Bearer', access_token: 'opaque', id_token: idToken, scope },
  };
}

test('A-N, W-7: a person signs in with the authorization server and returns to the opened link', async () => {
  const { visitor, server } = await realSetup();
  const { browser, gateway } = visitor;
  const { text } = await browser.send(`${PUBLIC_URL}/console/sign-in`);
  expect(JSON.parse(text)).toEqual({ issuers: [{ issuer: server.issuer, title: 'Example' }] });
  const back = await visitor.signInAs('ann', server, '/console#/q/abc');
  expect(back.url).toMatch(/^https:\/\/gateway\.example\.com\/console#key=[\w-]{43}&to=\/q\/abc$/);
  const person = await visitor.enter(back);
  const me = await person.get('/me');
  expect(me.body).toMatchObject({ principal: `ann@${server.issuer}`, operator: false });
  expect(me.body).not.toHaveProperty('readOnly');
  const own = browser.setCookies.filter((header) => header.includes('meanwhile'));
  expect(own.map((header) => header.replace(/=[\w.-]*;/, '=…;').replace(/_[\da-f]{8}=/, '='))).toEqual([
    '__Host-meanwhile_sign_in=…; HttpOnly; SameSite=Lax; Path=/; Max-Age=600; Secure',
    '__Host-meanwhile_sign_in=…; HttpOnly; SameSite=Strict; Path=/; Max-Age=60; Secure',
    '__Host-meanwhile_console=…; HttpOnly; SameSite=Strict; Path=/; Max-Age=28800; Secure',
    '__Host-meanwhile_sign_in=…; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure',
    '__Secure-meanwhile_id=…; HttpOnly; SameSite=Strict; Path=/console/sign-out; Max-Age=28800; Secure',
  ]);
  // Nothing of it is written down.
  const logs = JSON.stringify(gateway.logs);
  for (const secret of [keyIn(back.url), server.client.clientSecret]) expect(logs).not.toContain(secret);
});

test('A-N, W-7: the authorization request has PKCE, state and nonce, and only the needed scopes', async () => {
  const { visitor, issuer } = await handmadeSetup({ parameters: { audience: 'api', prompt: 'select_account' } });
  const first = await visitor.begin(issuer.url);
  const second = await visitor.begin(issuer.url);
  expect(`${first.origin}${first.pathname}`).toBe(`${issuer.url}/authorize`);
  expect(Object.fromEntries(first.searchParams)).toEqual({
    audience: 'api',
    prompt: 'select_account',
    response_type: 'code',
    client_id: 'console',
    redirect_uri: CALLBACK,
    scope: 'openid mcp:use mcp:answer',
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
  for (const name of ['state', 'nonce', 'code_challenge']) {
    expect(first.searchParams.get(name)).not.toBe(second.searchParams.get(name));
  }
  issuer.metadata['code_challenge_methods_supported'] = ['plain'];
  const other = await handmadeSetup();
  other.issuer.metadata['code_challenge_methods_supported'] = ['plain'];
  const refused = await other.visitor.post('/console/sign-in/begin', { issuer: other.issuer.url });
  expect(refused.text).toContain('does not support PKCE');
});

test('A-N, W-7, A-30: a wrong, missing or used state, or another browser, does not sign in', async () => {
  const { visitor, issuer } = await handmadeSetup();
  const { state, nonce } = await attempt(visitor, issuer);
  grant(issuer, await issuer.token({ nonce }));
  const stranger = new Visitor(visitor.gateway);
  for (const [who, given] of [
    [visitor, { code: 'c', state: 'other' }],
    [visitor, { code: 'c' }],
    [stranger, { code: 'c', state }],
  ] as const) {
    const page = await who.arrive({ ...given, iss: issuer.url });
    expect(page.status, page.text).toBe(401);
    expect(page.text).toContain('You are not signed in');
    expect(page.headers['location']).toBeUndefined();
  }
  expect(issuer.redeemed).toEqual([]);
  // None of these has spoilt the right one, which works once.
  const cookies = visitor.browser.cookiesFor(PUBLIC_URL);
  const right = await visitor.arrive({ code: 'c', state });
  expect([right.status, right.headers['location']]).toEqual([303, expect.stringMatching(/^\/console#key=[\w-]+$/)]);
  const [name = '', value = ''] = cookies.split('=');
  visitor.browser.setCookie(PUBLIC_URL, name, value);
  const again = await visitor.arrive({ code: 'c', state });
  expect([again.status, again.text]).toEqual([401, expect.stringContaining('already completed')]);
  expect(issuer.redeemed).toHaveLength(1);
});

test('A-N, W-7: the key in the URL is refused without the cookie, after a minute, and a second time', async () => {
  const clock = new TestClock(Date.now());
  const { visitor, issuer } = await handmadeSetup({}, {}, clock);
  const arrive = async (): Promise<string> => {
    const { state, nonce } = await attempt(visitor, issuer);
    const now = Math.floor(clock.now() / 1000);
    grant(issuer, await issuer.token({ nonce, exp: now + 600 }));
    return keyIn(String((await visitor.arrive({ code: 'c', state })).headers['location']));
  };
  const key = await arrive();
  const cookies = visitor.browser.cookiesFor(PUBLIC_URL);
  expect((await new Visitor(visitor.gateway).post('/console/sign-in', { key })).status).toBe(401);
  expect((await visitor.post('/console/sign-in', { key: `${key}x` })).status).toBe(401);
  expect((await visitor.post('/console/sign-in', { key })).status).toBe(200);
  const [name = '', value = ''] = cookies.split('=');
  visitor.browser.setCookie(PUBLIC_URL, name, value);
  expect((await visitor.post('/console/sign-in', { key })).status).toBe(401);
  const late = await arrive();
  clock.advance(61_000);
  expect((await visitor.post('/console/sign-in', { key: late })).status).toBe(401);
  // A person who took more than ten minutes at the issuer has to begin again.
  const { state } = await attempt(visitor, issuer);
  clock.advance(601_000);
  expect((await visitor.arrive({ code: 'c', state })).status).toBe(401);
});

test('A-N, W-7, A-29: a callback of another issuer is refused before its code is used or its error is shown', async () => {
  const { visitor, issuer } = await handmadeSetup();
  issuer.metadata['authorization_response_iss_parameter_supported'] = true;
  const wrong: Record<string, string>[] = [
    { code: 'c', iss: 'https://evil.example' },
    { code: 'c', iss: `${issuer.url}/` },
    { code: 'c' },
    { error: 'access_denied', error_description: 'Words of Evil', iss: 'https://evil.example' },
  ];
  for (const parameters of wrong) {
    const { state } = await attempt(visitor, issuer);
    const page = await visitor.arrive({ ...parameters, state });
    expect([page.status, page.text]).toEqual([401, expect.stringContaining('is not from')]);
    expect(page.text).not.toContain('Words of Evil');
  }
  expect(issuer.redeemed).toEqual([]);
  const { state, nonce } = await attempt(visitor, issuer);
  grant(issuer, await issuer.token({ nonce }));
  expect((await visitor.arrive({ code: 'c', state, iss: issuer.url })).status).toBe(303);
});

test('A-N, W-7: the error description of an issuer is shown as text', async () => {
  const { visitor, issuer } = await handmadeSetup();
  const { state } = await attempt(visitor, issuer);
  const description = '<script>alert(1)</script>\u001b[31m';
  const page = await visitor.arrive({ state, error: 'access_denied', error_description: description });
  expect(page.status).toBe(401);
  expect(page.text).toContain('Example answered: access_denied: &lt;script&gt;alert(1)&lt;/script&gt;');
  expect(page.text).not.toContain('\u001b');
  expect(page.headers['content-security-policy']).toContain("default-src 'none'");
});

test('A-N, W-7, A-4: a forged or expired ID token, or one for another audience, does not sign in', async () => {
  const { visitor, issuer } = await handmadeSetup({ claims: { hd: 'example.com' } });
  const now = Math.floor(Date.now() / 1000);
  const other = await handmadeIssuer('console');
  const good = { iss: issuer.url, sub: 'ann', aud: 'console', hd: 'example.com', iat: now, exp: now + 600 };
  const unsigned = (nonce: string): string =>
    [{ alg: 'none' }, { ...good, nonce }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.') + '.';
  const confused = async (nonce: string): Promise<string> =>
    new SignJWT({ ...good, nonce })
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(new TextEncoder().encode(JSON.stringify(issuer.publicKey)));
  const wrong: Record<string, [make: (nonce: string) => Promise<string> | string | undefined, why: string]> = {
    missing: [() => undefined, 'sent no ID token'],
    'of another attempt': [() => issuer.token({ ...good, nonce: 'other' }), 'not issued for this sign-in'],
    'without a nonce': [() => issuer.token(good), 'not issued for this sign-in'],
    'not signed': [unsigned, 'not valid'],
    'signed with a public key': [confused, 'algorithm that is not accepted'],
    'signed by another': [(nonce) => other.token({ ...good, nonce }), 'signature is wrong'],
    'of another issuer': [(nonce) => issuer.token({ ...good, nonce, iss: other.url }), "claim 'iss'"],
    'for another client': [(nonce) => issuer.token({ ...good, nonce, aud: 'other' }), "claim 'aud'"],
    'for several clients': [(nonce) => issuer.token({ ...good, nonce, aud: ['console', 'other'] }), 'another client'],
    'given to another client': [(nonce) => issuer.token({ ...good, nonce, azp: 'other' }), 'another client'],
    expired: [(nonce) => issuer.token({ ...good, nonce, exp: now - 60 }), 'expired'],
    'without an end': [(nonce) => issuer.token({ ...good, nonce, exp: null }), "claim 'exp'"],
    'without a subject': [(nonce) => issuer.token({ ...good, nonce, sub: null }), "claim 'sub'"],
    'of another organisation': [(nonce) => issuer.token({ ...good, nonce, hd: 'evil.example' }), "claim 'hd'"],
    'no token at all': [() => 'something', 'cannot be read'],
  };
  for (const [what, [make, why]] of Object.entries(wrong)) {
    const { state, nonce } = await attempt(visitor, issuer);
    const token = await make(nonce);
    grant(issuer, token);
    const page = await visitor.arrive({ code: 'c', state });
    expect(page.headers['location'], what).toBeUndefined();
    expect(page.status, what).toBeGreaterThanOrEqual(400);
    expect(page.text.replaceAll('&#39;', "'"), what).toContain(why);
    if (token !== undefined && token.length > 20) expect(page.text, what).not.toContain(token);
  }
  for (const aud of ['console', ['console', 'other']]) {
    const { state, nonce } = await attempt(visitor, issuer);
    grant(issuer, await issuer.token({ ...good, nonce, aud, azp: 'console' }));
    expect((await visitor.arrive({ code: 'c', state })).status).toBe(303);
  }
});

test('W-7: a sign-in does not redirect to another site', async () => {
  const { visitor, issuer } = await handmadeSetup();
  const cases: [to: string, then: string][] = [
    ['/console#/work?status=failed', '&to=/work?status=failed'],
    ['/oauth/start/abc', '&to=/oauth/start/abc'],
    ['/answer/abc', '&to=/answer/abc'],
    ['/console', ''],
    ['//evil.example', ''],
    ['https://evil.example/console', ''],
    ['/\\evil.example', ''],
    ['/console/../../evil', ''],
    ['javascript:alert(1)', ''],
    ['/mcp', ''],
    ['/console#/q/1\r\nlocation: https://evil.example', ''],
    [`/console#/${'x'.repeat(1500)}`, ''],
  ];
  for (const [to, then] of cases) {
    const { state, nonce } = await attempt(visitor, issuer, to);
    grant(issuer, await issuer.token({ nonce }));
    const { headers } = await visitor.arrive({ code: 'c', state });
    expect(String(headers['location']).replace(/=[\w-]{43}/, '=…'), to).toBe(`/console#key=…${then}`);
  }
});

test('A-N, A-9, W-7: scopes decide what a person may do, and a page names a missing scope', async () => {
  const { visitor, server } = await realSetup();
  const denied = await visitor.signInAs('eve', server);
  expect(denied.status).toBe(403);
  expect(denied.text).toContain('You may not use this gateway');
  expect(denied.text).toContain(`(eve@${server.issuer}) lacks the scope mcp:use`);
  expect(denied.text).toMatch(/<a href="[^"]+\/session\/end\?[^"]+"[^>]*>Sign out at Example</);
  const reader = new Visitor(visitor.gateway);
  const viewer = await reader.enter(await reader.signInAs('viewer', server));
  expect((await viewer.get('/me')).body).toMatchObject({ operator: false, readOnly: true });
  const refused = await viewer.post('/calls/unknown/cancel');
  expect([refused.status, codeOf(refused)]).toEqual([403, 'not_allowed']);
  expect(refused.text).toContain('lacks the scope mcp:answer');
});

test('A-N, W-7: an operator has the scope for it or is named in the config', async () => {
  const server = await startLoginServer(PUBLIC_URL);
  const client = { ...server.client, scopes: ['mcp:use', 'mcp:answer', 'mcp:operate'] };
  const gateway = await httpGateway({}, settingsFor(server.issuer, client, { operators: [`ann@${server.issuer}`] }));
  for (const [name, expected] of [
    ['boss', { operator: true }],
    ['ann', { operator: true }],
    ['viewer', { operator: false }],
  ] as const) {
    const visitor = new Visitor(gateway);
    const person = await visitor.enter(await visitor.signInAs(name, server));
    expect((await person.get('/me')).body).toMatchObject({ principal: `${name}@${server.issuer}`, ...expected });
  }
});

test('A-N: scopes are read from the token response or its tokens, and are never assumed', async () => {
  const { visitor, issuer } = await handmadeSetup();
  const may = async (idToken: object, answer: Record<string, unknown>): Promise<unknown> => {
    const { state, nonce } = await attempt(visitor, issuer);
    const token = await issuer.token({ scope: null, nonce, ...idToken });
    issuer.tokenAnswer = { status: 200, body: { token_type: 'Bearer', id_token: token, ...answer } };
    const { status, headers } = await visitor.arrive({ code: 'c', state });
    if (status !== 303) return status;
    const url = new URL(String(headers['location']), PUBLIC_URL).href;
    const { body } = await (await visitor.enter({ url })).get('/me');
    return body['readOnly'] === true ? 'use' : 'answer';
  };
  const access = async (claims: object): Promise<{ access_token: string }> => ({
    access_token: await issuer.token({ aud: `${PUBLIC_URL}/mcp`, scope: 'mcp:answer', ...claims }),
  });
  expect(await may({}, {})).toBe(403);
  expect(await may({}, { scope: 'openid' })).toBe(403);
  expect(await may({}, { scope: 'openid mcp:use' })).toBe('use');
  expect(await may({ scope: 'mcp:answer' }, {})).toBe('answer');
  expect(await may({ scp: ['mcp:use'] }, {})).toBe('use');
  expect(await may({}, await access({}))).toBe('answer');
  expect(await may({}, { ...(await access({})), scope: 'mcp:use' })).toBe('answer');
  // For another service, or of another person.
  expect(await may({}, await access({ aud: 'https://other.example' }))).toBe(403);
  expect(await may({}, await access({ sub: 'eve' }))).toBe(403);
});

test('A-N, W-7: a person can sign out of the console, and then at the issuer', async () => {
  const { visitor, server } = await realSetup();
  const { browser } = visitor;
  const person = await visitor.enter(await visitor.signInAs('ann', server));
  // Who is still signed in at the issuer comes back with one click.
  expect((await visitor.signInAs('nobody', server)).url).toContain('/console#key=');
  const out = await visitor.post(
    '/console/sign-out',
    {},
    { 'meanwhile-console': person.headers['meanwhile-console'] ?? '' },
  );
  expect(out.status).toBe(200);
  const { issuer } = JSON.parse(out.text) as { issuer: { title: string; url: string } };
  expect(issuer.title).toBe('Example');
  expect(new URL(issuer.url).searchParams.get('id_token_hint')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  expect(browser.cookiesFor(PUBLIC_URL)).toBe('');
  const asked = await browser.open(issuer.url);
  const gone = await browser.submit(asked, { logout: 'yes' }, isConsole);
  expect(gone.url).toMatch(/^https:\/\/gateway\.example\.com\/console/);
  // Now the issuer asks again.
  const page = await browser.open((await visitor.begin(server.issuer)).href, {}, isConsole);
  expect(page.text).toContain('name="login"');
});

test('A-N, W-7: the session survives a restart, and ends after sessionMs or when the client at the issuer changes', async () => {
  const clock = new TestClock(Date.now());
  const store = join(await temporaryFolder(), 'store.db');
  const issuer = await handmadeIssuer('console');
  const settings = (clientId: string): SettingsInput => ({
    ...settingsFor(issuer.url, { clientId, sessionMs: 3_600_000 }),
    store,
  });
  const first = await httpGateway({}, settings('console'), clock);
  const visitor = new Visitor(first);
  const { state, nonce } = await attempt(visitor, issuer);
  grant(issuer, await issuer.token({ nonce }));
  await first.close();
  // The gateway was restarted while the person was at the issuer: nothing is lost.
  const second = await httpGateway({}, settings('console'), clock);
  const returned = new Visitor(second, PUBLIC_URL, visitor.browser);
  const { headers } = await returned.arrive({ code: 'c', state });
  const { headers: own } = await returned.enter({ url: String(headers['location']) });
  const status = async (gateway: TestGateway): Promise<number> =>
    (await raw(gateway, '/api/v1/me', { headers: own })).status;
  expect(await status(second)).toBe(200);
  await second.close();
  const third = await httpGateway({}, settings('another-client'), clock);
  expect(await status(third)).toBe(401);
  await third.close();
  const fourth = await httpGateway({}, settings('console'), clock);
  clock.advance(3_599_000);
  expect(await status(fourth)).toBe(200);
  clock.advance(2000);
  expect(await status(fourth)).toBe(401);
});

test('A-N: the gateway authenticates with the method that the issuer supports', async () => {
  const secret = 'a secret: with 100%+';
  const cases: [client: object, methods: string[] | undefined, sent: object][] = [
    [{}, undefined, { authorization: undefined, id: 'console', secret: null }],
    [
      { clientSecret: secret },
      undefined,
      { authorization: 'console:a+secret%3A+with+100%25%2B', id: null, secret: null },
    ],
    [{ clientSecret: secret }, ['client_secret_post'], { authorization: undefined, id: 'console', secret }],
    [
      { clientSecret: secret, clientAuth: 'post' },
      ['client_secret_basic'],
      { authorization: undefined, id: 'console', secret },
    ],
  ];
  for (const [client, methods, sent] of cases) {
    const { visitor, issuer } = await handmadeSetup(client);
    if (methods !== undefined) issuer.metadata['token_endpoint_auth_methods_supported'] = methods;
    const { state, nonce } = await attempt(visitor, issuer);
    grant(issuer, await issuer.token({ nonce }));
    expect((await visitor.arrive({ code: 'the-code', state })).status).toBe(303);
    const [{ fields, authorization } = { fields: new URLSearchParams(), authorization: undefined }] = issuer.redeemed;
    const basic = authorization && Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();
    expect({ authorization: basic, id: fields.get('client_id'), secret: fields.get('client_secret') }).toEqual(sent);
    expect(fields.get('code')).toBe('the-code');
    expect(fields.get('redirect_uri')).toBe(CALLBACK);
    expect(fields.get('code_verifier')).toMatch(/^[\w-]{43}$/);
  }
});

test('A-N, W-7: an error page explains that the issuer is unreachable or refuses the gateway', async () => {
  const { visitor, issuer } = await handmadeSetup();
  const { state } = await attempt(visitor, issuer);
  issuer.tokenAnswer = { status: 401, body: { error: 'invalid_client' } };
  const page = await visitor.arrive({ code: 'c', state });
  expect(page.text).toMatch(
    /Sign-in with Example is not possible now, because it answered invalid_client.*meanwhile doctor/,
  );
  const next = await attempt(visitor, issuer);
  issuer.tokenAnswer = { status: 502, body: 'gone' };
  const away = await visitor.arrive({ code: 'c', state: next.state });
  expect([away.status, away.text]).toEqual([503, expect.stringContaining('cannot be reached at the moment')]);
  const other = await handmadeSetup();
  other.issuer.broken = true;
  const begun = await other.visitor.post('/console/sign-in/begin', { issuer: other.issuer.url });
  expect([begun.status, JSON.parse(begun.text)]).toMatchObject([503, { error: { code: 'issuer_unreachable' } }]);
  const unknown = await visitor.post('/console/sign-in/begin', { issuer: 'https://other.example' });
  expect(unknown.status).toBe(401);
  const plain = await httpGateway({});
  const none = await raw(plain, '/console/sign-in/begin', {
    method: 'POST',
    headers: JSON_HEADERS,
    body: { issuer: 'x' },
  });
  expect(none.status).toBe(404);
  expect((await raw(plain, '/console/sign-in')).body).toEqual({ issuers: [] });
  expect((await raw(plain, '/console/callback?code=c&state=s')).status).toBe(404);
});

test('W-7: other sites can neither begin nor complete a sign-in', async () => {
  const { visitor, issuer } = await handmadeSetup();
  const foreign = await visitor.post(
    '/console/sign-in/begin',
    { issuer: issuer.url },
    { origin: 'https://evil.example' },
  );
  expect(foreign.status).toBe(403);
  const form = await visitor.post('/console/sign-in/begin', { issuer: issuer.url }, { 'content-type': 'text/plain' });
  expect(form.status).toBe(415);
  const { state, nonce } = await attempt(visitor, issuer);
  grant(issuer, await issuer.token({ nonce }));
  const url = `${CALLBACK}?${new URLSearchParams({ code: 'c', state }).toString()}`;
  expect((await visitor.browser.send(url, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  // Programs that look what is behind a link do not use it up.
  expect((await visitor.browser.send(url, { method: 'HEAD' })).status).toBe(405);
  expect((await visitor.browser.send(url)).status).toBe(303);
});

test('A-N, W-7: on localhost the sign-in works without TLS, at the address of the redirect URI', async () => {
  const issuer = await handmadeIssuer('console');
  const gateway = await httpGateway(
    {},
    { auth: { issuers: [{ issuer: issuer.url, console: { clientId: 'console' } }] } },
  );
  const { origin, port } = new URL(gateway.url);
  const visitor = new Visitor(gateway, origin);
  const url = await visitor.begin(issuer.url);
  expect(url.searchParams.get('redirect_uri')).toBe(`${origin}/console/callback`);
  expect(visitor.browser.setCookies[0]).toMatch(
    /^meanwhile_sign_in_\w+=\S+; HttpOnly; SameSite=Lax; Path=\/console; Max-Age=600$/,
  );
  const elsewhere = await raw(gateway, '/console/sign-in/begin', {
    method: 'POST',
    headers: { ...JSON_HEADERS, host: `localhost:${port}`, origin: `http://localhost:${port}` },
    body: { issuer: issuer.url, to: '/console#/q/1' },
  });
  expect([elsewhere.body, elsewhere.headers['set-cookie']]).toEqual([{ url: `${origin}/console#/q/1` }, undefined]);
});

test('A-N: mistakes in the sign-in settings are reported', async () => {
  const console = { clientId: 'console' };
  const issuers = [{ issuer: 'https://login.example.com', console }];
  const mistakes: [settings: SettingsInput, message: RegExp][] = [
    [{ host: '0.0.0.0', auth: { issuers } }, /auth\.issuers\[0\]\.console: people come back to `publicUrl`.*missing/],
    [{ publicUrl: 'http://gateway.example.com', auth: { issuers } }, /must begin with https/],
    [
      { auth: { issuers: [{ ...issuers[0], console: { ...console, parameters: { state: 'x' } } }] } },
      /parameters.*the gateway sets this parameter itself/s,
    ],
    [{ auth: { issuers: [{ ...issuers[0], console: {} }] } }, /clientId/],
  ];
  for (const [settings, message] of mistakes) await expect(testConfig({}, settings)).rejects.toThrow(message);
  const { settings } = await testConfig({}, { auth: { issuers } });
  expect(settings.auth.issuers[0]?.console).toMatchObject({ sessionMs: 28_800_000 });
});

test('A-P, A-N: access rules see the claims of a person signed in with an issuer, also for accounts at servers', async () => {
  const issuer = await handmadeIssuer('console');
  const [open, secret] = [owned(await startV1Http()), owned(await startV1Http())];
  const access = [
    { claims: { groups: 'contractors' }, servers: ['secret'], then: 'deny' },
    { principals: [`*@${issuer.url}`], then: 'allow' },
  ];
  const gateway = await httpGateway(
    { open: { url: open.url }, secret: { url: secret.url } },
    { ...settingsFor(issuer.url, { clientId: 'console' }), access },
  );
  const enter = async (groups: string[], answer: Record<string, unknown> = {}): Promise<ConsolePerson | number> => {
    const visitor = new Visitor(gateway);
    const { state, nonce } = await attempt(visitor, issuer);
    const token = await issuer.token({ nonce, groups });
    const body = { token_type: 'Bearer', id_token: token, scope: 'mcp:answer', ...answer };
    issuer.tokenAnswer = { status: 200, body };
    const { status, headers } = await visitor.arrive({ code: 'c', state });
    if (status !== 303) return status;
    return visitor.enter({ url: new URL(String(headers['location']), PUBLIC_URL).href });
  };
  const serversOf = async (person: ConsolePerson | number): Promise<unknown[]> =>
    typeof person === 'number' ? [person] : (await person.items('/servers')).map(({ name }) => name);
  expect(await serversOf(await enter(['staff']))).toEqual(['open', 'secret']);
  // The access token counts as well, if it is for the gateway.
  const ofGateway = await issuer.token({ aud: `${PUBLIC_URL}/mcp`, groups: ['contractors'] });
  expect(await serversOf(await enter(['staff'], { access_token: ofGateway }))).toEqual(['open']);
  const contractor = await enter(['contractors']);
  if (typeof contractor === 'number') throw new Error(`not signed in: ${contractor}`);
  expect(await serversOf(contractor)).toEqual(['open']);
  expect((await contractor.get('/servers/secret')).status).toBe(404);
  expect((await contractor.post('/servers/secret/connect', {})).status).toBe(404);
  expect((await contractor.post('/servers/secret/sign-in', {})).status).toBe(404);
  expect((await contractor.post('/servers/open/sign-in', {})).status).not.toBe(404);
});

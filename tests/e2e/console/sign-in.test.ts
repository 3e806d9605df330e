/** Who may use the console and its API, and from where. */
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ConsoleAccess } from '../../../src/north/console/console-access.ts';
import { Cookies, COOKIE_MS } from '../../../src/north/console/cookie.ts';
import { Guard } from '../../../src/north/http/guard.ts';
import {
  atConsole,
  codeOf,
  JSON_HEADERS,
  raw,
  signIn,
  withToken,
  type Raw,
  type SignedIn,
} from '../../support/console.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { TestClock } from '../../support/test-clock.ts';

const ANN = 'a-token-of-ann-1234';
const BOB = 'a-token-of-bob-1234';
const TOKENS = { auth: { tokens: { ann: ANN, bob: BOB }, operators: ['bob'] } };

test('W-7: the launch key is exchanged for a cookie that scripts and other sites cannot read', async () => {
  const gateway = await httpGateway({});
  const { status, headers, body } = await raw(gateway, '/console/sign-in', {
    method: 'POST',
    headers: JSON_HEADERS,
    body: { key: gateway.console.key },
  });
  expect(status).toBe(200);
  expect(body).toEqual({ pageKey: expect.stringMatching(/^[\w-]{43}$/) });
  expect(headers['set-cookie']).toEqual([
    expect.stringMatching(
      /^meanwhile_console_[\da-f]{8}=[\w-]+\.[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
    ),
  ]);
  const person = await atConsole(gateway);
  expect((await person.get('/me')).body).toMatchObject({ principal: 'local', operator: true });
});

test('W-7: without tokens the API requires the cookie or the launch key, also locally', async () => {
  const gateway = await httpGateway({});
  const without = await raw(gateway, '/api/v1/me');
  expect([without.status, codeOf(without)]).toEqual([401, 'not_signed_in']);
  expect(without.text).toContain('meanwhile console');
  const wrong = await withToken(gateway, 'something-else-entirely').get('/me');
  expect([wrong.status, codeOf(wrong)]).toEqual([401, 'wrong_token']);
  expect((await withToken(gateway, gateway.console.key).get('/me')).body).toMatchObject({ operator: true });
});

test('W-7: with tokens each person signs in with their own token', async () => {
  const gateway = await httpGateway({}, TOKENS);
  const who = async (key: string): Promise<unknown> => (await (await atConsole(gateway, key)).get('/me')).body;
  expect(await who(ANN)).toMatchObject({ principal: 'ann', operator: false });
  expect(await who(BOB)).toMatchObject({ principal: 'bob', operator: true });
  expect((await withToken(gateway, ANN).get('/me')).body).toMatchObject({ principal: 'ann', operator: false });
  expect(await who(gateway.console.key)).toMatchObject({ principal: 'local', operator: true });
});

test('W-7: wrong keys are refused with a fix, too many of them for a while, and right ones always work', async () => {
  const clock = new TestClock(Date.now());
  const gateway = await httpGateway({}, {}, clock);
  const attempt = async (key: unknown) =>
    raw(gateway, '/console/sign-in', { method: 'POST', headers: JSON_HEADERS, body: { key } });
  const wrong = await attempt('wrong');
  expect([wrong.status, codeOf(wrong)]).toEqual([401, 'wrong_key']);
  expect(wrong.text).toMatch(/meanwhile console.*auth\.tokens/);
  expect(wrong.headers['set-cookie']).toBeUndefined();
  for (let count = 1; count < 9; count += 1) await attempt('wrong');
  expect((await withToken(gateway, 'wrong').get('/me')).status).toBe(401);
  expect((await withToken(gateway, 'wrong').get('/me')).status).toBe(429);
  const limited = await attempt('wrong');
  expect([limited.status, codeOf(limited)]).toEqual([429, 'too_many_attempts']);
  expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
  expect((await attempt(gateway.console.key)).status).toBe(200);
  expect((await withToken(gateway, gateway.console.key).get('/me')).status).toBe(200);
  clock.advance(61_000);
  expect((await attempt('wrong')).status).toBe(401);
});

test('W-7, A-Q: a link signs in with the launch key, and never with a token', async () => {
  const clock = new TestClock(Date.now());
  const gateway = await httpGateway({}, TOKENS, clock);
  const attempt = async (body: object) =>
    raw(gateway, '/console/sign-in', { method: 'POST', headers: JSON_HEADERS, body });
  const link = await attempt({ key: ANN, fromLink: true });
  expect([link.status, codeOf(link)]).toEqual([401, 'token_in_link']);
  expect(link.text).toContain('enter your own token');
  expect(link.headers['set-cookie']).toBeUndefined();
  expect((await attempt({ key: 'wrong', fromLink: true })).status).toBe(401);
  expect((await attempt({ key: gateway.console.key, fromLink: true })).status).toBe(200);
  expect((await attempt({ key: ANN })).status).toBe(200);
});

test('W-7: signing out clears the cookie', async () => {
  const gateway = await httpGateway({});
  const { status, headers } = await raw(gateway, '/console/sign-out', {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...(await signIn(gateway)) },
    body: {},
  });
  expect(status).toBe(204);
  expect(headers['set-cookie']).toEqual([
    expect.stringMatching(/^meanwhile_console_\w+=; HttpOnly; SameSite=Strict; Path=\/; Max-Age=0$/),
    expect.stringMatching(/^__Host-meanwhile_console_\w+=; HttpOnly; SameSite=Strict; Path=\/; Max-Age=0; Secure$/),
  ]);
});

test('W-7: a cookie that is expired, changed or signed with another key is refused', async () => {
  const clock = new TestClock(Date.now());
  const gateway = await httpGateway({}, TOKENS, clock);
  const { cookie, ...others } = await signIn(gateway, ANN);
  const status = async (given: string) =>
    (await raw(gateway, '/api/v1/me', { headers: { ...others, cookie: given } })).status;
  expect(await status(`other=1; ${cookie}; more=2`)).toBe(200);
  const [name = '', value = ''] = cookie.split('=');
  const [content = '', signature = ''] = value.split('.');
  const asBob = Buffer.from(JSON.stringify({ principal: 'bob', launched: false, expires: clock.now() + 1e6 }));
  const forged = new Cookies(Buffer.alloc(32)).set({ principal: 'bob', launched: true, expires: clock.now() + 1e6 }, 0);
  for (const changed of [
    `${name}=`,
    `${name}=${content}`,
    `${name}=${content}.`,
    `${name}=${content}.${signature}.x`,
    `${name}=${asBob.toString('base64url')}.${signature}`,
    `${name}=${forged.split('=')[1]?.split(';')[0]}`,
    `${name}=${'x'.repeat(5000)}.${'y'.repeat(5000)}`,
  ]) {
    expect(await status(changed), changed).toBe(401);
  }
  clock.advance(COOKIE_MS - 1000);
  expect(await status(cookie)).toBe(200);
  clock.advance(2000);
  expect(await status(cookie)).toBe(401);
});

test('W-7: a cookie is valid after a restart until its token is removed or replaced', async () => {
  const store = join(await temporaryFolder(), 'store.db');
  const first = await httpGateway({}, { ...TOKENS, store });
  const [ann, local] = [await signIn(first, ANN), await signIn(first)];
  await first.close();
  const second = await httpGateway({}, { ...TOKENS, store });
  const status = async (gateway: typeof first, headers: SignedIn) =>
    (await raw(gateway, '/api/v1/me', { headers })).status;
  expect([await status(second, ann), await status(second, local)]).toEqual([200, 200]);
  expect((await withToken(second, first.console.key).get('/me')).status).toBe(401);
  await second.close();
  const third = await httpGateway({}, { auth: { tokens: { bob: BOB } }, store });
  expect(await status(third, ann)).toBe(401);
  await third.close();
  const fourth = await httpGateway({}, { auth: { tokens: { ann: 'another-token-of-ann' } }, store });
  expect(await status(fourth, ann)).toBe(401);
});

test('W-7: gateways of two stores on one machine ignore each other’s cookies', async () => {
  const [one, other] = [await httpGateway({}), await httpGateway({})];
  const [ofOne, ofOther] = [await signIn(one), await signIn(other)];
  expect(ofOne.cookie.split('=')[0]).not.toBe(ofOther.cookie.split('=')[0]);
  const cookie = `${ofOther.cookie}; ${ofOne.cookie}`;
  expect((await raw(one, '/api/v1/me', { headers: { ...ofOne, cookie } })).status).toBe(200);
  expect((await raw(other, '/api/v1/me', { headers: { ...ofOther, cookie } })).status).toBe(200);
});

test('W-7: requests of other origins, and without the page key, are refused', async () => {
  const gateway = await httpGateway({});
  const { host, port } = new URL(gateway.url);
  const signedIn = await signIn(gateway);
  const { cookie } = signedIn;
  const cancel = '/api/v1/calls/unknown/cancel';
  const post = { method: 'POST', body: {} };
  const own = { ...JSON_HEADERS, ...signedIn };
  const cases: [path: string, given: Raw, status: number, code: string | undefined][] = [
    // The page itself.
    [cancel, { ...post, headers: { ...own, origin: `http://${host}` } }, 404, 'not_found'],
    [cancel, { ...post, headers: own }, 404, 'not_found'],
    // Another page, also of another port of this machine.
    [cancel, { ...post, headers: { ...own, origin: 'https://evil.example' } }, 403, 'foreign_origin'],
    [cancel, { ...post, headers: { ...own, origin: 'http://127.0.0.1:1' } }, 403, 'foreign_origin'],
    [cancel, { ...post, headers: { ...own, origin: `http://localhost:${port}` } }, 403, 'foreign_origin'],
    [cancel, { ...post, headers: { ...own, origin: 'null' } }, 403, 'foreign_origin'],
    ['/api/v1/me', { headers: { ...signedIn, origin: 'https://evil.example' } }, 403, 'foreign_origin'],
    ['/console', { headers: { origin: 'https://evil.example' } }, 403, 'foreign_origin'],
    [
      '/console/sign-in',
      { ...post, headers: { ...JSON_HEADERS, origin: 'https://evil.example' } },
      403,
      'foreign_origin',
    ],
    // A form can be sent without asking, but neither as JSON nor with a header.
    [cancel, { ...post, headers: { ...JSON_HEADERS, cookie } }, 401, 'not_signed_in'],
    [cancel, { ...post, headers: { ...own, 'content-type': 'text/plain' } }, 415, 'not_json'],
    ['/console/sign-in', { ...post, headers: { 'content-type': 'text/plain' } }, 415, 'not_json'],
    // A name that somebody has made lead here.
    ['/api/v1/me', { headers: { ...signedIn, host: `evil.example:${port}` } }, 403, 'not_allowed'],
    ['/console', { headers: { host: 'evil.example' } }, 403, 'not_allowed'],
    [cancel, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } }, 403, 'foreign_origin'],
  ];
  for (const [path, given, status, code] of cases) {
    const reply = await raw(gateway, path, given);
    expect([reply.status, codeOf(reply)], JSON.stringify([path, given])).toEqual([status, code]);
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(reply.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
  }
});

test('W-7: a cookie without the page key is refused, as from another port of the host', async () => {
  const gateway = await httpGateway({}, TOKENS);
  const [{ cookie, 'meanwhile-console': pageKey }, bob] = [await signIn(gateway, ANN), await signIn(gateway, BOB)];
  const paths: [path: string, given: Raw][] = [
    ['/api/v1/me', {}],
    ['/api/v1/events', {}],
    ['/api/v1/calls/unknown/cancel', { method: 'POST', body: {} }],
  ];
  for (const [path, given] of paths) {
    for (const header of [undefined, '1', '', bob['meanwhile-console'], `${pageKey}x`]) {
      const headers = { ...JSON_HEADERS, cookie, ...(header !== undefined && { 'meanwhile-console': header }) };
      const reply = await raw(gateway, path, { ...given, headers });
      expect([reply.status, codeOf(reply)], `${path} ${header}`).toEqual([401, 'not_signed_in']);
    }
  }
  expect((await raw(gateway, '/api/v1/me', { headers: { 'meanwhile-console': pageKey } })).status).toBe(401);
  // The page of another gateway on the same store signs the same person in, with a cookie for all ports.
  const again = await signIn(gateway, ANN);
  expect((await raw(gateway, '/api/v1/me', { headers: { ...again, 'meanwhile-console': pageKey } })).status).toBe(200);
});

test('W-7: behind a proxy the page works at an allowed host', async () => {
  const gateway = await httpGateway({}, { allowedHosts: ['gateway.example'] });
  const headers = { ...(await signIn(gateway)), host: 'gateway.example', origin: 'https://gateway.example' };
  expect((await raw(gateway, '/api/v1/me', { headers })).status).toBe(200);
});

test('W-7: a cookie set over TLS is Secure', async () => {
  const gateway = await httpGateway({}, { allowedHosts: ['gateway.example'] });
  const body = { key: gateway.console.key };
  const set = async (origin: string) => {
    const headers = { ...JSON_HEADERS, host: 'gateway.example', origin };
    return (await raw(gateway, '/console/sign-in', { method: 'POST', headers, body })).headers['set-cookie']?.[0];
  };
  expect(await set('https://gateway.example')).toMatch(/^__Host-meanwhile_console_.*; Secure$/);
  expect(await set('http://gateway.example')).toMatch(/^meanwhile_console_(?!.*Secure)/);
});

test('W-7: over TLS a cookie of another site does not replace the own one', async () => {
  const gateway = await httpGateway({}, { ...TOKENS, allowedHosts: ['gateway.example'] });
  const at = { ...JSON_HEADERS, host: 'gateway.example', origin: 'https://gateway.example' };
  const signedIn = await raw(gateway, '/console/sign-in', { method: 'POST', headers: at, body: { key: ANN } });
  const [own = ''] = signedIn.headers['set-cookie'] ?? [];
  const { cookie: foreign } = await signIn(gateway, BOB);
  const headers = { ...at, 'meanwhile-console': String(signedIn.body['pageKey']) };
  for (const cookie of [`${foreign}; ${own.split(';')[0]}`, `${own.split(';')[0]}; ${foreign}`]) {
    const { body } = await raw(gateway, '/api/v1/me', { headers: { ...headers, cookie } });
    expect(body).toMatchObject({ principal: 'ann' });
  }
});

test('W-7: only the signed-in page can pass a browser to another page of the gateway', async () => {
  const clock = new TestClock(Date.now());
  const gateway = await httpGateway({}, TOKENS, clock);
  const person = await signIn(gateway, ANN);
  const path = '/oauth/start/abc';
  const pass = async (headers: Record<string, string>, to: string) =>
    raw(gateway, '/console/pass', { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: { path: to } });
  const { status, body } = await pass(person, path);
  expect([status, body]).toEqual([200, { location: expect.stringMatching(/^\/oauth\/start\/abc\?pass=[\w.-]+$/) }]);
  const address = String(body['location']);
  expect((await pass({ cookie: person.cookie }, path)).status).toBe(401);
  expect((await pass({ authorization: `Bearer ${ANN}` }, path)).status).toBe(401);
  for (const foreign of ['https://evil.example', '//evil.example', '/mcp', '/api/v1/me', '/oauth/start/../x']) {
    expect((await pass(person, foreign)).status, foreign).toBe(400);
  }
  const { store } = gateway.gateway;
  const guard = new Guard({ host: '127.0.0.1', ...TOKENS, allowedHosts: [], allowedOrigins: [] }, () => gateway.url);
  const access = new ConsoleAccess({ guard, store, clock, key: 'other', operators: ['bob'], audit: undefined });
  const visitor = async (url: string, cookie: string | undefined, at = path) =>
    access.visitor({ url, headers: { cookie } } as IncomingMessage, at);
  const { cookie: bob } = await signIn(gateway, BOB);
  expect(await visitor(address, person.cookie)).toEqual({ principal: 'ann', operator: false });
  expect(await visitor(address, undefined)).toBeUndefined();
  expect(await visitor(address, bob)).toBeUndefined();
  expect(await visitor(path, person.cookie)).toBeUndefined();
  expect(await visitor(`${address}x`, person.cookie)).toBeUndefined();
  expect(await visitor(address, person.cookie, '/oauth/start/other')).toBeUndefined();
  clock.advance(601_000);
  expect(await visitor(address, person.cookie)).toBeUndefined();
});

test('W-7: a body that is too large or not JSON is refused', async () => {
  const gateway = await httpGateway({}, { limits: { bodyBytes: 2000 } });
  const post = async (body: string) =>
    raw(gateway, '/console/sign-in', { method: 'POST', headers: JSON_HEADERS, body });
  expect((await post('{')).status).toBe(400);
  expect((await post('[]')).status).toBe(400);
  expect((await post('{"key":1}')).status).toBe(400);
  expect((await post(JSON.stringify({ key: 'x', more: 1 }))).text).toContain("unknown: 'more'");
  expect((await post(JSON.stringify({ key: 'x'.repeat(3000) }))).status).toBe(413);
});

test('W-1, W-7: auth.operators must name entries of auth.tokens', async () => {
  await expect(httpGateway({}, { auth: { tokens: { ann: ANN }, operators: ['bob'] } })).rejects.toThrow(
    /auth\.operators\[0\]: neither a name in auth\.tokens/,
  );
});

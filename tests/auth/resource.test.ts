import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { Issuer } from '../../src/auth/issuer.ts';
import { createLog } from '../../src/lib/log.ts';
import { startV1Http } from '../servers/v1-http.ts';
import { withToken } from '../support/console.ts';
import { httpGateway, stdioGateway, type SettingsInput, type TestGateway } from '../support/gateway.ts';
import { JumpingClock } from '../support/jumping-clock.ts';
import { defer, owned } from '../support/owned.ts';
import { errorOf, INITIALIZE, post, rawSession, send, toolCall, type RawAnswer } from '../support/raw-http.ts';
import { StdioTransport } from '../support/stdio-transport.ts';
import { startAuthorizationServer } from './authorization-server.ts';
import { handmadeIssuer, type HandmadeIssuer } from './issuer.ts';

const PUBLIC_URL = 'https://gateway.example.com';
const METADATA = '/.well-known/oauth-protected-resource';

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const authOf = ({ url }: Pick<HandmadeIssuer, 'url'>, more: SettingsInput = {}): SettingsInput => ({
  publicUrl: PUBLIC_URL,
  auth: { issuers: [{ issuer: url }], ...more },
});

async function protectedGateway(more?: SettingsInput): Promise<{ issuer: HandmadeIssuer; gateway: TestGateway }> {
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  return { issuer, gateway: await httpGateway({}, authOf(issuer, more)) };
}

const challengeOf = ({ headers }: RawAnswer): string => headers['www-authenticate'] ?? '';

test('A-1, A-2, A-7, A-10: the metadata and the challenge of every endpoint name the authorization server', async () => {
  const { issuer, gateway } = await protectedGateway();
  const { origin } = new URL(gateway.url);
  for (const path of ['', '/mcp', '/mcp/files', '/mcp/all']) {
    const answer = await send(`${origin}${METADATA}${path}`, { method: 'GET', headers: {} });
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.json).toEqual({
      resource: `${PUBLIC_URL}${path}`,
      authorization_servers: [issuer.url],
      scopes_supported: ['mcp:use'],
      bearer_methods_supported: ['header'],
      resource_name: 'Meanwhile',
    });
  }
  expect((await send(`${origin}${METADATA}/other`, { method: 'GET', headers: {} })).status).toBe(404);
  const refused = await post(`${origin}/mcp/files`, INITIALIZE);
  expect(refused.status).toBe(401);
  expect(challengeOf(refused)).toBe(`Bearer scope="mcp:use", resource_metadata="${PUBLIC_URL}${METADATA}/mcp/files"`);
});

test('A-3, A-11: a missing token or a token in another place is refused with the right status', async () => {
  const { issuer, gateway } = await protectedGateway();
  const token = await issuer.token();
  expect((await post(gateway.url, INITIALIZE)).status).toBe(401);
  expect((await post(gateway.url, INITIALIZE, { authorization: 'Basic YTpi' })).status).toBe(400);
  expect((await post(gateway.url, INITIALIZE, { authorization: 'Bearer two words' })).status).toBe(400);
  const inAddress = await post(`${gateway.url}?access_token=${token}`, INITIALIZE, bearer(token));
  expect([inAddress.status, challengeOf(inAddress)]).toEqual([400, expect.stringContaining('error="invalid_request"')]);
  expect((await post(gateway.url, INITIALIZE, bearer(token))).status).toBe(200);
});

test('A-4, A-5, A-12: only valid tokens that an issuer has signed for this gateway are accepted', async () => {
  const { issuer, gateway } = await protectedGateway();
  const now = Math.floor(Date.now() / 1000);
  const other = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  // Signed with what everybody can read, as if it were a secret.
  const confused = await new SignJWT({ iss: issuer.url, sub: 'ann', aud: `${PUBLIC_URL}/mcp`, exp: now + 600 })
    .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
    .sign(new TextEncoder().encode(JSON.stringify(issuer.publicKey)));
  const [, payload] = (await issuer.token()).split('.');
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
  const [head, , signature] = (await issuer.token()).split('.');
  const changed = Buffer.from(
    JSON.stringify({ iss: issuer.url, sub: 'eve', aud: `${PUBLIC_URL}/mcp`, exp: now + 600 }),
  );
  const wrong: Record<string, [token: string, why: string]> = {
    'of an unknown issuer': [await other.token(), 'issuer is not one of'],
    'signed by another': [await other.token({ iss: issuer.url }), 'signature is wrong'],
    'with a key that is not there': [await other.token({ iss: issuer.url }, { kid: 'other' }), 'does not have'],
    'signed with a public key': [confused, 'algorithm that is not accepted'],
    'not signed': [unsigned, 'not valid'],
    changed: [`${head}.${changed.toString('base64url')}.${signature}`, 'signature is wrong'],
    expired: [await issuer.token({ exp: now - 60 }), 'expired'],
    'not valid yet': [await issuer.token({ nbf: now + 120 }), "claim 'nbf'"],
    'without an end': [await issuer.token({ exp: null }), "claim 'exp'"],
    'without a subject': [await issuer.token({ sub: null }), "claim 'sub'"],
    'for another resource': [await issuer.token({ aud: 'https://other.example.com/mcp' }), 'not issued for'],
    'for nobody': [await issuer.token({ aud: null }), 'not issued for'],
    'to log out with': [await issuer.token({}, { typ: 'logout+jwt' }), 'not an access token'],
    'not a JSON Web Token': ['something-else', 'not a JSON Web Token'],
  };
  for (const [what, [token, why]] of Object.entries(wrong)) {
    const answer = await post(gateway.url, INITIALIZE, bearer(token));
    expect(answer.status, what).toBe(401);
    expect(errorOf(answer).message, what).toContain(why);
    expect(challengeOf(answer), what).toContain('error="invalid_token"');
    expect(answer.text, what).not.toContain(token);
  }
  expect(JSON.stringify(gateway.logs)).not.toContain(await issuer.token());
});

test('A-4: all header types of access tokens are accepted', async () => {
  const { issuer, gateway } = await protectedGateway();
  for (const typ of ['JWT', 'at+jwt', 'application/at+JWT']) {
    expect((await post(gateway.url, INITIALIZE, bearer(await issuer.token({}, { typ })))).status, typ).toBe(200);
  }
});

test('A-4: a verified signature is cached for a limited time, even if the token is valid for longer', async () => {
  const clock = new JumpingClock();
  const handmade = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const settings = { issuer: handmade.url, audiences: [], principalClaim: 'sub', scopeClaim: 'scope' };
  const issuer = new Issuer({ settings, scopes: false, clock, log: createLog('silent') });
  const exp = Math.floor(clock.now() / 1000) + 86_400;
  const long = await issuer.verifyJwt(await handmade.token({ exp }));
  expect(long.bearer.expiresAt).toBe(exp * 1000);
  expect(long.until).toBeLessThanOrEqual(clock.now() + 600_000);
  expect((await issuer.verifyJwt(await handmade.token({ exp: exp - 86_390 }))).until).toBe((exp - 86_390) * 1000);
});

test('A-13: a token of a client does not get the principal of a person with the same name', async () => {
  const { issuer, gateway } = await protectedGateway();
  const token = await issuer.token({ sub: null, client_id: 'ann' });
  expect((await withToken(gateway, token).get('/me')).body).toMatchObject({ principal: `client:ann@${issuer.url}` });
});

test('A-5: a token for one endpoint is refused at others, and a token for the hub is accepted at all', async () => {
  const server = owned(await startV1Http());
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const gateway = await httpGateway({ a: { url: server.url }, b: { url: server.url } }, authOf(issuer));
  const statusAt = async (path: string, aud: string | string[]): Promise<number> =>
    (await post(`${gateway.url}${path}`, INITIALIZE, bearer(await issuer.token({ aud })))).status;
  expect(await statusAt('/a', `${PUBLIC_URL}/mcp/a`)).toBe(200);
  expect(await statusAt('/b', `${PUBLIC_URL}/mcp/a`)).toBe(401);
  expect(await statusAt('', `${PUBLIC_URL}/mcp/a`)).toBe(401);
  expect(await statusAt('/b', ['https://other.example.com', `${PUBLIC_URL}/mcp`])).toBe(200);
  expect(await statusAt('/b', PUBLIC_URL)).toBe(200);
  // Some clients append `/mcp`, before or after they have read which resource it is.
  expect(await statusAt('/a/mcp', `${PUBLIC_URL}/mcp/a`)).toBe(200);
  expect(await statusAt('/a/mcp', `${PUBLIC_URL}/mcp/a/mcp`)).toBe(200);
  expect(await statusAt('/b/mcp', `${PUBLIC_URL}/mcp/a`)).toBe(401);
});

test('A-1, A-2: metadata is also served for the alias path of a server and to web pages, and is read-only', async () => {
  const { gateway } = await protectedGateway();
  const { origin } = new URL(gateway.url);
  const at = async (path: string, method = 'GET'): Promise<RawAnswer> =>
    send(`${origin}${METADATA}${path}`, { method, headers: {} });
  expect((await at('/mcp/files/mcp')).json).toMatchObject({ resource: `${PUBLIC_URL}/mcp/files` });
  expect((await at('/mcpfoo')).status).toBe(404);
  expect((await at('/mcp/files/other')).status).toBe(404);
  const challenged = async (path: string): Promise<string> => challengeOf(await post(`${origin}${path}`, INITIALIZE));
  expect(await challenged('/mcp/files/mcp')).toContain(`resource_metadata="${PUBLIC_URL}${METADATA}/mcp/files"`);
  expect(await challenged('/mcpfoo')).toContain(`resource_metadata="${PUBLIC_URL}${METADATA}/mcp"`);
  const preflight = await at('/mcp', 'OPTIONS');
  expect([preflight.status, preflight.text]).toEqual([204, '']);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    'access-control-allow-headers': '*',
  });
  expect([(await at('/mcp', 'HEAD')).status, (await at('/mcp', 'HEAD')).text]).toEqual([200, '']);
  const wrong = await at('/mcp', 'POST');
  expect([wrong.status, wrong.headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

test('A-8, A-9: a token needs the scope mcp:use or one that includes it', async () => {
  const { issuer, gateway } = await protectedGateway();
  const initialize = async (claims: Record<string, unknown>): Promise<RawAnswer> =>
    post(gateway.url, INITIALIZE, bearer(await issuer.token(claims)));
  const lacking = await initialize({ scope: 'openid profile' });
  expect(lacking.status).toBe(403);
  expect(challengeOf(lacking)).toContain('error="insufficient_scope"');
  expect(challengeOf(lacking)).toContain('scope="mcp:use"');
  expect(challengeOf(lacking)).toContain(`resource_metadata="${PUBLIC_URL}${METADATA}/mcp"`);
  for (const scope of ['mcp:use', 'mcp:answer', 'openid mcp:operate']) {
    expect((await initialize({ scope })).status, scope).toBe(200);
  }
  // As Okta and Entra write it.
  expect((await initialize({ scope: null, scp: ['mcp:use'] })).status).toBe(200);

  const renamed = await protectedGateway({ scopes: { use: 'api.read' } });
  expect((await post(renamed.gateway.url, INITIALIZE, bearer(await renamed.issuer.token()))).status).toBe(403);
  const without = await protectedGateway({ scopes: false });
  const plain = await without.issuer.token({ scope: null });
  expect((await post(without.gateway.url, INITIALIZE, bearer(plain))).status).toBe(200);
});

test('A-8, W-7: the API needs mcp:use to read and mcp:answer to change, and mcp:operate makes an operator', async () => {
  const { issuer, gateway } = await protectedGateway();
  const me = async (scope: string): Promise<unknown> =>
    (await withToken(gateway, await issuer.token({ scope })).get('/me')).body;
  expect(await me('mcp:use')).toMatchObject({ principal: `ann@${issuer.url}`, operator: false });
  expect(await me('mcp:operate')).toMatchObject({ operator: true });
  const { origin } = new URL(gateway.url);
  const change = async (scope: string): Promise<RawAnswer> =>
    send(`${origin}/api/v1/questions/q/answer`, {
      headers: { 'content-type': 'application/json', ...bearer(await issuer.token({ scope })) },
      body: '{"action":"decline"}',
    });
  const refused = await change('mcp:use');
  expect([refused.status, challengeOf(refused)]).toEqual([403, expect.stringContaining('scope="mcp:answer"')]);
  expect((await change('mcp:answer')).status).toBe(404);
});

test('A-13, S-1: another subject cannot use a session, and a new token of the same subject can', async () => {
  const { issuer, gateway } = await protectedGateway();
  const ann = await rawSession(gateway.url, bearer(await issuer.token()));
  const again = { ...ann.headers, ...bearer(await issuer.token({ jti: 'another token' })) };
  expect((await post(gateway.url, toolCall('list_tasks'), again)).status).toBe(200);
  const eve = { ...ann.headers, ...bearer(await issuer.token({ sub: 'eve' })) };
  expect((await post(gateway.url, toolCall('list_tasks'), eve)).status).toBe(404);
  const other = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const both = await httpGateway(
    {},
    { publicUrl: PUBLIC_URL, auth: { issuers: [{ issuer: issuer.url }, { issuer: other.url }] } },
  );
  const own = await rawSession(both.url, bearer(await issuer.token()));
  // The same subject of another issuer is another person.
  const stranger = { ...own.headers, ...bearer(await other.token()) };
  expect((await post(both.url, toolCall('list_tasks'), stranger)).status).toBe(404);
});

test('A-4: an unreachable issuer leads to status 503, and is not requested for every token', async () => {
  const clock = new JumpingClock();
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  issuer.broken = true;
  const gateway = await httpGateway({}, authOf(issuer), clock);
  const token = await issuer.token();
  const down = await post(gateway.url, INITIALIZE, bearer(token));
  expect([down.status, errorOf(down).data]).toEqual([503, { code: 'TOOL_ERR_ISSUER_UNREACHABLE' }]);
  expect(down.headers['retry-after']).toBe('5');
  expect(gateway.logs).toContainEqual(expect.objectContaining({ event: 'issuer_unreachable' }));
  issuer.broken = false;
  clock.jump(3000);
  const before = issuer.asked.length;
  expect((await post(gateway.url, INITIALIZE, bearer(token))).status).toBe(503);
  expect(issuer.asked).toHaveLength(before);
  clock.jump(2500);
  expect((await post(gateway.url, INITIALIZE, bearer(token))).status).toBe(200);
  // What was found out since then outlasts the failure that came before.
  clock.jump(5000);
  const asked = issuer.asked.length;
  expect((await post(gateway.url, INITIALIZE, bearer(token))).status).toBe(200);
  expect((await post(gateway.url, INITIALIZE, bearer(await issuer.token({ sub: 'bob' })))).status).toBe(200);
  // A token that is known, and keys that are known.
  expect(issuer.asked).toHaveLength(asked);
});

const INTROSPECTION = { clientId: 'gateway', clientSecret: 'of the gateway' };

test('A-4: an unreachable issuer does not block tokens of another issuer', async () => {
  const clock = new JumpingClock();
  const down = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const up = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  down.broken = true;
  up.opaque['known'] = { active: true, sub: 'ann', aud: `${PUBLIC_URL}/mcp`, scope: 'mcp:use' };
  const issuers = [down, up].map(({ url }) => ({ issuer: url, introspection: INTROSPECTION }));
  const gateway = await httpGateway({}, { publicUrl: PUBLIC_URL, auth: { issuers } }, clock);
  const statusOf = async (token: string): Promise<number> =>
    (await post(gateway.url, INITIALIZE, bearer(token))).status;
  expect(await statusOf('known')).toBe(200);
  expect(await statusOf('unknown')).toBe(503);
  down.broken = false;
  clock.jump(5500);
  expect(await statusOf('unknown')).toBe(401);
  // For some seconds, neither is asked again about what it does not know.
  const asked = [down, up].flatMap((issuer) => issuer.asked).length;
  expect(await statusOf('unknown')).toBe(401);
  expect([down, up].flatMap((issuer) => issuer.asked)).toHaveLength(asked);
  down.opaque['unknown'] = { ...up.opaque['known'] };
  clock.jump(5500);
  expect(await statusOf('unknown')).toBe(200);
});

test('A-4: failed introspection does not reload the metadata', async () => {
  const clock = new JumpingClock();
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const issuers = [{ issuer: issuer.url, introspection: INTROSPECTION }];
  const gateway = await httpGateway({}, { publicUrl: PUBLIC_URL, auth: { issuers } }, clock);
  const statusOf = async (token: string): Promise<number> =>
    (await post(gateway.url, INITIALIZE, bearer(token))).status;
  expect(await statusOf('one')).toBe(401);
  issuer.broken = true;
  expect(await statusOf('two')).toBe(503);
  issuer.broken = false;
  clock.jump(5500);
  const asked = issuer.asked.length;
  expect(await statusOf('two')).toBe(401);
  expect(issuer.asked.slice(asked)).toEqual(['/introspect']);
});

test('A-4: JWKS and introspection URLs without https are not requested', async () => {
  const { issuer, gateway } = await protectedGateway();
  issuer.metadata = { jwks_uri: 'http://keys.example.com/' };
  expect((await post(gateway.url, INITIALIZE, bearer(await issuer.token()))).status).toBe(503);
  expect(JSON.stringify(gateway.logs)).toContain('names no jwks_uri with https');
  const introspected = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  introspected.metadata = { introspection_endpoint: 'http://tokens.example.com/' };
  const issuers = [{ issuer: introspected.url, introspection: INTROSPECTION }];
  const other = await httpGateway({}, { publicUrl: PUBLIC_URL, auth: { issuers } });
  expect((await post(other.url, INITIALIZE, bearer('token'))).status).toBe(503);
  expect(JSON.stringify(other.logs)).toContain('names no introspection_endpoint with https');
});

test('A-1: requests with the host of publicUrl are accepted, with and without issuers', async () => {
  const host = { host: 'gateway.example.com' };
  const { issuer, gateway } = await protectedGateway();
  expect((await post(gateway.url, INITIALIZE, { ...bearer(await issuer.token()), ...host })).status).toBe(200);
  const open = await httpGateway({}, { publicUrl: PUBLIC_URL });
  expect((await post(open.url, INITIALIZE, host)).status).toBe(200);
  expect((await post(open.url, INITIALIZE, { host: 'other.example.com' })).status).toBe(403);
});

test('A-4: metadata of another issuer is refused', async () => {
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  issuer.metadataIssuer = 'https://other.example.com';
  const gateway = await httpGateway({}, authOf(issuer));
  expect((await post(gateway.url, INITIALIZE, bearer(await issuer.token()))).status).toBe(503);
  expect(JSON.stringify(gateway.logs)).toContain('it names another issuer');
});

test('A-N: static tokens work together with issuers', async () => {
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const fixed = 'a-token-of-the-config-file';
  const gateway = await httpGateway({}, authOf(issuer, { tokens: { robot: fixed } }));
  expect((await post(gateway.url, INITIALIZE, bearer(fixed))).status).toBe(200);
  expect((await post(gateway.url, INITIALIZE, bearer(await issuer.token()))).status).toBe(200);
  expect((await post(gateway.url, INITIALIZE, bearer('another-token-nobody-has'))).status).toBe(401);
});

test('A-N: a client of the SDK gets its token from a real authorization server', async () => {
  const server = owned(await startV1Http());
  const idp = await startAuthorizationServer('jwt');
  const gateway = await httpGateway({ a: { url: server.url } }, { auth: { issuers: [{ issuer: idp.issuer }] } });
  const { id: clientId, secret: clientSecret } = idp.client;
  const authProvider = new ClientCredentialsProvider({ clientId, clientSecret, scope: 'mcp:use' });
  const client = new Client({ name: 'robot', version: '1' });
  defer(async () => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/a`), { authProvider }));
  expect((await client.callTool({ name: 'echo', arguments: { text: 'hello' } })).content).toMatchObject([
    { text: 'hello' },
  ]);
});

test('A-6: the token of a client is not sent to servers', async () => {
  const seen: unknown[] = [];
  const server = createServer((req, res) => {
    seen.push(req.headers);
    res.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => void server.close());
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const gateway = await httpGateway({ a: { url } }, authOf(issuer));
  const token = await issuer.token();
  await post(`${gateway.url}/a`, INITIALIZE, bearer(token));
  await expect.poll(() => seen.length).toBeGreaterThan(0);
  expect(JSON.stringify(seen)).not.toContain(token);
  expect(JSON.stringify(seen)).not.toContain('authorization');
});

test('A-4, A-N: an opaque token is introspected, and refused after it was revoked', async () => {
  const clock = new JumpingClock();
  const idp = await startAuthorizationServer('opaque');
  const { id: clientId, secret: clientSecret } = idp.client;
  const issuers = [{ issuer: idp.issuer, introspection: { clientId, clientSecret } }];
  const gateway = await httpGateway({}, { auth: { issuers } }, clock);
  const token = await idp.token(`${new URL(gateway.url).origin}/mcp`);
  expect((await post(gateway.url, INITIALIZE, bearer(token))).status).toBe(200);
  expect((await post(gateway.url, INITIALIZE, bearer(`${token}x`))).status).toBe(401);
  await idp.revoke(token);
  // For a minute, what it said is believed.
  expect((await post(gateway.url, INITIALIZE, bearer(token))).status).toBe(200);
  clock.jump(61_000);
  expect((await post(gateway.url, INITIALIZE, bearer(token))).status).toBe(401);
});

test('A-14: stdio needs no token', async () => {
  const issuer = await handmadeIssuer(`${PUBLIC_URL}/mcp`);
  const client = new Client({ name: 'local', version: '1' });
  await client.connect(new StdioTransport(await stdioGateway({}, authOf(issuer))));
  defer(async () => client.close());
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
});

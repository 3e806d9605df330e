import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import type { AccountAt, Accounts } from '../../../src/core/ports/accounts.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import { defer } from '../../support/owned.ts';
import { browse, startAuthorizationServer } from '../authorization-server.ts';
import { at, REDIRECT_URI, signInOf, testAccounts, UNAUTHORIZED } from './signing-in.ts';

/** An MCP server, as far as it says who authorizes its clients. */
async function resourceOf(issuer: string): Promise<string> {
  const server = createServer((req, res) => {
    const isMetadata = req.url === '/.well-known/oauth-protected-resource/mcp';
    res.writeHead(isMetadata ? 200 : 404, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ resource: url, authorization_servers: [issuer], scopes_supported: ['mcp:use'] }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return url;
}

// To load it takes a while, and to install it takes longer.
beforeAll(async () => {
  await startAuthorizationServer('jwt');
}, 120_000);

async function signIn(accounts: Accounts, account: AccountAt): Promise<string> {
  const { id } = signInOf(await accounts.tokens(account).refused(undefined, UNAUTHORIZED));
  await accounts.complete(await browse(await accounts.authorizationUrl(id), REDIRECT_URI));
  const token = await accounts.tokens(account).current();
  if (token === undefined) throw new Error('no token');
  return token;
}

test('A-21, A-25, A-27, A-28, A-29, A-34: a person signs in at a real authorization server, and tokens are rotated', async () => {
  const { issuer } = await startAuthorizationServer('jwt', {});
  const url = await resourceOf(issuer);
  const database = new MemoryDatabase();
  const [one, two] = [testAccounts(database), testAccounts(database)];
  const account = at(url);
  const token = await signIn(one.accounts, account);
  expect(decodeJwt(token)).toMatchObject({ iss: issuer, sub: 'ann', aud: url, scope: 'mcp:use' });
  expect(await one.accounts.list()).toMatchObject([{ issuer, renewable: true }]);

  // Ten calls at two gateways: a refresh token that is used twice would end the whole grant.
  for (const { clock } of [one, two]) clock.jump(60_000);
  const refusals = Array.from({ length: 10 }, async (_, index) =>
    (index % 2 === 0 ? one : two).accounts.tokens(account).refused(token, UNAUTHORIZED),
  );
  expect(new Set((await Promise.all(refusals)).map(({ then }) => then))).toEqual(new Set(['retry']));
  const second = await two.accounts.tokens(account).current();
  expect(second).not.toBe(token);
  expect(await one.accounts.tokens(account).current()).toBe(second);
  for (const { clock } of [one, two]) clock.jump(60_000);
  expect(await two.accounts.tokens(account).refused(second, UNAUTHORIZED)).toEqual({ then: 'retry' });

  // Another principal has an account of their own, with the same registration.
  expect(await one.accounts.tokens(at(url, undefined, 'bob')).current()).toBeUndefined();
  expect(decodeJwt(await signIn(one.accounts, at(url, undefined, 'bob'))).client_id).toBe(decodeJwt(token).client_id);
});

test('A-S: tokens restored from an old copy of the store lead to a new sign-in, which works', async () => {
  const { issuer } = await startAuthorizationServer('jwt', {});
  const account = at(await resourceOf(issuer));
  const { accounts, clock, database } = testAccounts();
  const token = await signIn(accounts, account);
  const copy = structuredClone([...database.accounts.rows]);
  clock.jump(60_000);
  expect(await accounts.tokens(account).refused(token, UNAUTHORIZED)).toEqual({ then: 'retry' });
  // As after a crash between the refresh and the store: the refresh token there was used already.
  for (const [key, row] of copy) database.accounts.rows.set(key, row);
  const again = testAccounts(database);
  again.clock.jump(120_000);
  expect(await again.accounts.tokens(account).current()).toBe(token);
  const { id } = signInOf(await again.accounts.tokens(account).refused(token, UNAUTHORIZED));
  await again.accounts.complete(await browse(await again.accounts.authorizationUrl(id), REDIRECT_URI));
  expect(await again.accounts.tokens(account).current()).toEqual(expect.any(String));
});

test('A-S: after a sign-out the authorization server refuses the refresh token', async () => {
  const { issuer } = await startAuthorizationServer('opaque', {});
  const account = at(await resourceOf(issuer));
  const { accounts, clock, database, logs } = testAccounts();
  const token = await signIn(accounts, account);
  const copy = structuredClone([...database.accounts.rows]);
  expect(await accounts.signOut('ann', 'files')).toBe(true);
  expect(logs.join('')).not.toContain('token_not_revoked');
  for (const [key, row] of copy) database.accounts.rows.set(key, row);
  clock.jump(60_000);
  signInOf(await accounts.tokens(account).refused(token, UNAUTHORIZED));
});

test('A-S: client credentials work with a real authorization server', async () => {
  const { issuer, client } = await startAuthorizationServer('jwt');
  const url = await resourceOf(issuer);
  const auth = { grant: 'client_credentials', clientId: client.id, clientSecret: client.secret } as const;
  const token = await testAccounts().accounts.tokens(at(url, auth)).current();
  expect(decodeJwt(token ?? '')).toMatchObject({ iss: issuer, aud: url, scope: 'mcp:use', client_id: client.id });
});

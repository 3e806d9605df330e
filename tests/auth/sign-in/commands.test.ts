/** `meanwhile login`, `logout`, `whoami`, and the commands that use a server, with a program in place of the browser. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { configFile, httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { runCommand } from '../../support/command.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { Browser, openAs, signInOn } from './browser.ts';
import { protectedServer } from './protected-server.ts';

const SCRIPT = fileURLToPath(new URL('browser-command.mjs', import.meta.url));
const SHARED = { grant: 'authorization_code', shared: true } as const;
const BROWSER = `'${process.execPath}' '${SCRIPT}' %s`;

test('A-Q: login signs in at a running gateway, whoami shows the account, and logout removes it', async () => {
  const server = await protectedServer();
  const gateway = await httpGateway({ files: { url: server.url } });
  const at = ['--url', new URL(gateway.url).origin, '--token', gateway.console.key];
  expect((await runCommand(['whoami', ...at])).stdout).toContain('You are not signed in to any server');
  const login = await runCommand(['login', 'files', ...at, '--timeout', '15s'], { env: { BROWSER } });
  expect(login).toMatchObject({ code: 0 });
  expect(login.stderr).toMatch(/http:\/\/127\.0\.0\.1:\d+\/oauth\/start\//);
  expect(login.stdout).toContain('Signed in to files');
  const whoami = await runCommand(['whoami', ...at, '--json']);
  expect(JSON.parse(whoami.stdout)).toMatchObject({
    principal: 'local',
    accounts: [{ server: 'files', issuer: server.authorization.issuer, renewable: true }],
  });
  expect((await runCommand(['logout', 'files', ...at])).stdout).toContain('Signed out of files.');
  expect((await runCommand(['logout', 'files', ...at])).stdout).toContain('You were not signed in to files.');
  expect(server.authorization.revoked).toHaveLength(1);
});

test('A-Q, A-36: without a gateway, login uses the store, and commands with the server use the token', async () => {
  const server = await protectedServer();
  const store = join(await temporaryFolder(), 'store.db');
  const config = ['--config', await configFile({ files: { url: server.url } }, { store })];
  const before = await runCommand(['call', 'files', 'echo', 'text=hello', ...config]);
  expect(before.code).toBe(1);
  expect(before.stderr).toContain('meanwhile login files');
  const doctor = await runCommand(['doctor', 'files', ...config]);
  expect(doctor.stdout).toContain('meanwhile login files');
  const login = await runCommand(['login', 'files', ...config, '--timeout', '15s', '--json'], { env: { BROWSER } });
  expect(JSON.parse(login.stdout)).toMatchObject({ server: 'files', account: { renewable: true } });
  const after = await runCommand(['call', 'files', 'echo', 'text=hello', ...config]);
  expect(after).toMatchObject({ code: 0, stdout: expect.stringContaining('hello') as string });
  expect((await runCommand(['whoami', ...config])).stdout).toContain('renewed automatically');
});

test('A-S, A-Q: all principals see a shared account, and an operator can sign out of it', async () => {
  const server = await protectedServer();
  const tokens = { ann: 'token-of-ann-0123456789', bob: 'token-of-bob-0123456789' };
  const servers = { files: { url: server.url, auth: SHARED } };
  const gateway = await httpGateway(servers, { auth: { tokens, operators: ['bob'] } });
  const as = (token: string): string[] => ['--url', new URL(gateway.url).origin, '--token', token];
  const ann = await hubOverHttp(gateway.url, 'v2', { authorization: `Bearer ${tokens.ann}` });
  const reply = await ann.call('execute_tool', { server: 'files', tool: 'echo', args: { text: 'x' } });
  const browser = new Browser();
  await signInOn(await openAs(browser, tokens.ann, reply.elicitations[0]?.url ?? ''), browser);
  const whoami = await runCommand(['whoami', ...as(tokens.ann), '--json']);
  expect(JSON.parse(whoami.stdout)).toMatchObject({
    principal: 'ann',
    accounts: [{ principal: '*', server: 'files' }],
  });
  const refused = await runCommand(['logout', 'files', ...as(tokens.ann)]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('ask an operator to sign out') as string });
  expect(server.authorization.revoked).toHaveLength(0);
  expect((await runCommand(['logout', 'files', ...as(tokens.bob)])).stdout).toContain('Signed out of files.');
  expect(server.authorization.revoked).toHaveLength(1);
  expect((await runCommand(['logout', 'files', ...as(tokens.ann)])).stdout).toContain('You were not signed in');
});

test('A-S, A-36: without a gateway, logout removes a shared account', async () => {
  const server = await protectedServer();
  const store = join(await temporaryFolder(), 'store.db');
  const config = ['--config', await configFile({ files: { url: server.url, auth: SHARED } }, { store })];
  const login = await runCommand(['login', 'files', ...config, '--timeout', '15s', '--json'], { env: { BROWSER } });
  expect(JSON.parse(login.stdout)).toMatchObject({ account: { principal: '*' } });
  expect((await runCommand(['logout', 'files', ...config])).stdout).toContain('Signed out of files.');
  expect(server.authorization.revoked).toHaveLength(1);
});

test('A-Q: without a gateway, login refuses servers where each principal has an account', async () => {
  const server = await protectedServer();
  const store = join(await temporaryFolder(), 'store.db');
  const auth = { tokens: { ann: 'token-of-ann-0123456789' } };
  const servers = { files: { url: server.url }, team: { url: server.url, auth: SHARED } };
  const config = ['--config', await configFile(servers, { store, auth, port: 0 })];
  const own = await runCommand(['login', 'files', ...config, '--timeout', '15s'], { env: { BROWSER } });
  expect(own).toMatchObject({ code: 1, stdout: '' });
  expect(own.stderr).toContain('meanwhile login files --token TOKEN');
  expect(server.authorization.askedFor('/authorize')).toEqual([]);
  // What all share is signed in to by whoever it is.
  const shared = await runCommand(['login', 'team', ...config, '--timeout', '15s'], { env: { BROWSER } });
  expect(shared).toMatchObject({ code: 0, stdout: expect.stringContaining('Signed in to team') as string });
});

test('A-Q: mistakes in the command are reported with a fix', async () => {
  const config = ['--config', await configFile({ local: { command: 'x' } }, { store: ':memory:' })];
  expect(await runCommand(['login', ...config])).toMatchObject({ code: 2 });
  const command = await runCommand(['login', 'local', ...config]);
  expect(command.stderr).toContain("'local' is a command, which needs no sign-in");
  const unknown = await runCommand(['login', 'files', ...config]);
  expect(unknown.stderr).toContain("'files' is not in the config file");
});

test('A-20: doctor says why a sign-in is impossible', async () => {
  const server = await protectedServer();
  server.authorization.metadata = { code_challenge_methods_supported: undefined };
  const config = ['--config', await configFile({ files: { url: server.url } }, { store: ':memory:' })];
  expect((await runCommand(['doctor', 'files', ...config])).stdout).toContain('does not say that it supports PKCE');
  server.authorization.metadata = { issuer: 'https://other.example' };
  expect((await runCommand(['doctor', 'files', ...config])).stdout).toContain('https://other.example');
});

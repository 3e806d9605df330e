import { expect, test } from 'vitest';
import { answer, listen } from '../../servers/shared/http-host.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { configFile, httpGateway, type Servers } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { serveProgram } from '../../support/program.ts';
import { bundlePath } from '../../support/servers.ts';

const SECRET = 'hush-hush';
const secret = (place: string): string => `${SECRET}-${place}`;
const isTelling = (text: string): boolean => text.includes(SECRET);
const TOKEN = secret('token-of-alice');

/** The url with secrets in every place that can hold one. */
function withSecrets(url: string): string {
  const full = new URL(url);
  full.username = secret('user');
  full.password = secret('password');
  full.pathname += `/token/${secret('path')}`;
  full.searchParams.set('key', secret('query'));
  full.searchParams.append('key', secret('query-again'));
  full.hash = secret('hash');
  return full.href;
}

/** Servers that work, and servers that fail in every way there is, all of them full of secrets. */
async function servers(): Promise<Servers> {
  const good = owned(await startV1Http());
  const refusing = owned(
    await listen({
      port: 0,
      onerror: () => {},
      handle: async (_request, response) => answer(response, 404, 'nothing'),
    }),
  );
  const headers = { authorization: `Bearer ${secret('header')}`, 'x-api-key': secret('header-key') };
  const env = { API_KEY: secret('env') };
  const args = (first: string): string[] => [first, '--key', secret('args')];
  return {
    good: { url: withSecrets(good.url), headers },
    away: { url: withSecrets('http://127.0.0.1:1/'), headers },
    nameless: { url: withSecrets('http://no-such-host.invalid/'), headers },
    refusing: { url: withSecrets(`http://127.0.0.1:${refusing.port}/mcp`), headers },
    child: { command: process.execPath, args: args(bundlePath('v1-stdio')), env },
    dying: { command: process.execPath, args: ['-e', 'process.exit(3)', secret('args')], env },
    missing: { command: '/no/such/command', args: args('x'), env },
    mute: { command: process.execPath, args: ['-e', 'console.log("not json")', secret('args')], env },
  };
}

/** All that a client can be told about them. */
async function askAll(hub: HubClient, names: string[]): Promise<string[]> {
  const calls: [string, Json][] = [
    ['list_tools', {}],
    ['list_servers', {}],
    ['list_resources', {}],
    ['get_notifications', { include_delivered: true }],
    ['get_logs', {}],
    ['await_activity', { timeout_ms: 0 }],
  ];
  for (const server of names) {
    calls.push(
      ['get_server_status', { server }],
      ['list_tools', { server }],
      ['execute_tool', { server, tool: 'echo', args: { text: 'x' } }],
      ['execute_tool', { server, tool: 'none' }],
      ['read_resource', { server, uri: 'test://none' }],
      ['subscribe_resource', { server, uri: 'test://none' }],
    );
  }
  const told: string[] = [];
  for (const [tool, args] of calls) told.push(JSON.stringify((await hub.call(tool, args)).raw));
  return told;
}

test('X-4: secrets of servers appear in no list, error, event or log', async () => {
  const configured = await servers();
  const { url, logs } = await httpGateway(configured, {
    auth: { tokens: { alice: TOKEN } },
    servers: { connectTimeoutMs: 3000, reconnect: { firstMs: 20, attempts: 1 } },
  });
  const hub = await hubOverHttp(url, 'v1', { authorization: `Bearer ${TOKEN}` });
  const told = await askAll(hub, Object.keys(configured));
  expect(told.join('')).toContain('"text":"x"');
  expect(told.join('')).toContain('/no/such/command');
  expect(told.filter(isTelling)).toEqual([]);
  expect(logs.length).toBeGreaterThan(10);
  expect(logs.map((line) => JSON.stringify(line)).filter(isTelling)).toEqual([]);
});

test('X-4: secrets given to add_server appear in no reply and no log', async () => {
  const { url, logs } = await httpGateway({}, { allowCommands: true, servers: { connectTimeoutMs: 3000 } });
  const hub = await hubOverHttp(url);
  const other = await hubOverHttp(url);
  const told: string[] = [];
  for (const [name, config] of Object.entries(await servers())) {
    told.push(JSON.stringify((await hub.call('add_server', { name, ...config })).raw));
  }
  const wrong: Json[] = [
    { name: 'a', command: process.execPath, args: [`${SECRET}\u0000`] },
    { name: 'b', command: process.execPath, env: { KEY: `${SECRET}\u0000` } },
    { name: 'c', command: process.execPath, cwd: `/${SECRET}\u0000` },
    { name: 'd', url: 'http://127.0.0.1:1/', headers: { key: `${SECRET}\n` } },
    { name: 'e', url: 'http://127.0.0.1:1/', headers: { key: `${SECRET}\ud800` } },
    { name: 'f', url: `https://user:${SECRET}@` },
    { name: 'g', url: `ftp://user:${SECRET}@host/` },
    { name: 'h', url: 'http://127.0.0.1:1/', headers: { key: 7, [`${SECRET} bad name`]: 'x' } },
    { name: 'i', command: process.execPath, args: SECRET },
  ];
  for (const args of wrong) {
    const { raw, isError } = await hub.call('add_server', args);
    expect(isError, JSON.stringify(args)).toBe(true);
    told.push(JSON.stringify(raw));
  }
  told.push(...(await askAll(hub, ['good', 'child'])), ...(await askAll(other, ['good', 'child'])));
  expect(told.join('')).toContain('"text":"x"');
  expect(told.filter(isTelling)).toEqual([]);
  expect(logs.map((line) => JSON.stringify(line)).filter(isTelling)).toEqual([]);
});

test('X-4, O-1: secrets of servers do not appear in the log of the program', async () => {
  const configured = await servers();
  const config = await configFile(configured, {
    logLevel: 'debug',
    auth: { tokens: { alice: TOKEN } },
    servers: { connectTimeoutMs: 3000, reconnect: { firstMs: 20, attempts: 1 } },
  });
  const program = await serveProgram(['--config', config]);
  const hub = await hubOverHttp(program.url, 'modern', { authorization: `Bearer ${TOKEN}` });
  expect((await askAll(hub, Object.keys(configured))).filter(isTelling)).toEqual([]);
  expect(await program.stop()).toBe(0);
  expect(program.stderr.length).toBeGreaterThan(10);
  expect(program.stderr.filter(isTelling)).toEqual([]);
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { startSse2024 } from '../../servers/sse2024.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { echo } from '../servers/activity.ts';
import { ADA, TOKENS } from './two-hubs.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];
const SECRET = 'root:x:0:0 the body of an internal page';

interface Internal {
  port: number;
  requests: string[];
}

/** Something internal that is no MCP server. */
async function internal(
  answer: { status: number; headers?: Record<string, string>; body?: string },
  host = '127.0.0.1',
): Promise<Internal> {
  const requests: string[] = [];
  const server: Server = createServer((req, res) => {
    requests.push(`${req.method} ${req.url}`);
    res.writeHead(answer.status, answer.headers).end(answer.body ?? SECRET);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

test.each(KINDS)('X-2: with tokens clients cannot add private addresses, in any notation (%s)', async (kind) => {
  const target = await internal({ status: 404 });
  const { url } = await httpGateway({}, { auth: { tokens: TOKENS } });
  const hub = await hubOverHttp(url, kind, ADA);
  const hosts = ['127.0.0.1', 'localhost', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254'];
  for (const host of hosts) {
    const refused = await hub.call('add_server', { name: 'x', url: `http://${host}:${target.port}/mcp` });
    expect(refused.code, host).toBe('TOOL_ERR_NOT_ALLOWED');
    expect(refused.text, host).toContain('addServerAddresses');
  }
  expect(target.requests).toEqual([]);
});

test.each(KINDS)(
  'X-2: config-file servers, and added ones without tokens, may have private addresses (%s)',
  async (kind) => {
    const server = owned(await startV1Http());
    const guarded = await httpGateway({ one: { url: server.url } }, { auth: { tokens: TOKENS } });
    expect(await echo(await hubOverHttp(guarded.url, kind, ADA), 'one', 'in the file')).toBe('in the file');
    const open = await httpGateway({});
    const hub = await hubOverHttp(open.url, kind);
    expect((await hub.call('add_server', { name: 'one', url: server.url })).isError).toBe(false);
  },
);

test.each(KINDS)('X-2: addServerAddresses allows private addresses, for both HTTP transports (%s)', async (kind) => {
  const [server, old] = [owned(await startV1Http()), owned(await startSse2024())];
  const settings = { auth: { tokens: TOKENS }, addServerAddresses: ['127.0.0.1', '::1'] };
  const { url } = await httpGateway({}, settings);
  const hub = await hubOverHttp(url, kind, ADA);
  for (const [name, address] of [
    ['number', server.url],
    ['name', server.url.replace('127.0.0.1', 'localhost')],
    ['old', old.url],
  ] as const) {
    const added = await hub.call('add_server', { name, url: address });
    expect(added.isError, added.text).toBe(false);
    expect(await echo(hub, name, name)).toBe(name);
  }
  const refused = await hub.call('add_server', { name: 'x', url: server.url.replace('127.0.0.1', '127.0.0.2') });
  expect(refused.code).toBe('TOOL_ERR_NOT_ALLOWED');
});

test.each([301, 302, 307, 308])('X-2: a redirect (%i) to another address is not followed', async (status) => {
  const target = await internal({ status: 200 }, '127.0.0.2');
  const location = `http://127.0.0.2:${target.port}/sse`;
  // A POST is refused as a server of 2024 does it, so that its stream is asked for next.
  const door = createServer((req, res) => {
    if (req.method === 'GET') res.writeHead(status, { location }).end();
    else res.writeHead(405).end();
  });
  await new Promise<void>((resolve) => {
    door.listen(0, '127.0.0.1', resolve);
  });
  defer(async () => {
    door.closeAllConnections();
    await new Promise((resolve) => {
      door.close(resolve);
    });
  });
  const { port } = door.address() as AddressInfo;
  const { url } = await httpGateway({}, { auth: { tokens: TOKENS }, addServerAddresses: ['127.0.0.1'] });
  const hub = await hubOverHttp(url, 'v1', ADA);
  const failed = await hub.call('add_server', { name: 'x', url: `http://127.0.0.1:${port}/sse` });
  expect(failed.isError).toBe(true);
  expect(target.requests).toEqual([]);
});

test.each([
  { status: 404, headers: { 'content-type': 'text/html' } },
  { status: 500, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ error: SECRET }) },
  { status: 200, headers: { 'content-type': 'application/json' } },
  { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ secret: SECRET }) },
  { status: 200, headers: { 'content-type': 'text/plain' } },
  { status: 200, headers: { 'content-type': 'text/event-stream' }, body: `data: ${SECRET}\n\n` },
])('X-2: an error does not quote a page that is not an MCP response (HTTP $status, $headers)', async (answer) => {
  const { port } = await internal(answer);
  const { url } = await httpGateway({}, { servers: { connectTimeoutMs: 2000 } });
  const hub = await hubOverHttp(url);
  const failed = await hub.call('add_server', { name: 'x', url: `http://127.0.0.1:${port}/admin` });
  expect(failed.code).toBe('TOOL_ERR_SERVER_UNREACHABLE');
  for (const part of ['root', 'internal page', 'secret']) expect(JSON.stringify(failed.raw)).not.toContain(part);
});

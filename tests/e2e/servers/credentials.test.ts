import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { startHttp, loadConfig } from '../../../src/main.ts';
import { createLog } from '../../../src/lib/log.ts';
import { configFile, httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask } from './activity.ts';

/** Remembers what it was sent and answers only that it does not want it. */
async function startListener(): Promise<{ url: string; seen: { method: string; headers: IncomingHttpHeaders }[] }> {
  const seen: { method: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(({ method = '', headers }, response) => {
    seen.push({ method, headers });
    response.writeHead(method === 'GET' ? 404 : 405).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen };
}

test('B-1: headers of the config are sent with every request, also in the SSE fallback', async () => {
  const { url: target, seen } = await startListener();
  const headers = { Authorization: 'Bearer south-secret', 'X-Team': 'blue' };
  const { url } = await httpGateway({ one: { url: target, headers } });
  await hubOverHttp(url);
  await vi.waitFor(() => expect(seen.map(({ method }) => method)).toContain('GET'), { timeout: 10_000 });
  expect(seen.map(({ method }) => method)).toContain('POST');
  for (const request of seen) {
    expect(request.headers).toMatchObject({ authorization: 'Bearer south-secret', 'x-team': 'blue' });
  }
});

test('B-1, X-4: a command server gets the variables of the config and no others of the gateway', async () => {
  const server = v1Stdio({ GREETING: 'hello ${WHO}', TONE: '${TONE:-kind}' });
  const config = await loadConfig({
    flags: { config: await configFile({ one: server }) },
    env: { WHO: 'world', OPERATOR_SECRET: 'x' },
    cwd: '/',
  });
  const { url } = owned(await startHttp(config, createLog('silent')));
  vi.stubEnv('OPERATOR_SECRET', 'x');
  defer(async () => vi.unstubAllEnvs());
  const hub = await hubOverHttp(url);
  expect(await ask(hub, 'one', 'env', { name: 'GREETING' })).toBe('hello world');
  expect(await ask(hub, 'one', 'env', { name: 'TONE' })).toBe('kind');
  expect(await ask(hub, 'one', 'env', { name: 'OPERATOR_SECRET' })).toBe('(unset)');
});

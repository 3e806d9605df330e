import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { expect, test, vi } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { defer } from '../../support/owned.ts';

/** A server of the new era that tells of changes, and whose streams for that can be cut. */
async function startChanging() {
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'changing', version: '1.0.0' });
      server.registerTool('echo', {}, () => ({ content: [{ type: 'text', text: 'here' }] }));
      return server;
    },
    { legacy: 'reject' },
  );
  const serve = toNodeHandler(handler);
  const listening = new Set<Socket>();
  let listens = 0;
  const http = createServer((req, res) => {
    if (req.headers['mcp-method'] === 'subscriptions/listen') {
      listens += 1;
      listening.add(req.socket);
    }
    void (serve as (request: typeof req, response: typeof res) => Promise<void>)(req, res);
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  defer(async () => {
    await handler.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    listens: () => listens,
    cut: () => {
      for (const socket of listening) socket.destroy();
      listening.clear();
    },
    change: () => handler.notify.toolsChanged(),
  };
}

test('B-2, B-3: a `subscriptions/listen` stream that ends is reopened, and the server stays connected', async () => {
  const server = await startChanging();
  const { url, logs } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await vi.waitFor(() => expect(server.listens()).toBe(1), 10_000);
  server.cut();
  await vi.waitFor(() => expect(server.listens()).toBe(2), { timeout: 10_000 });
  await hub.call('get_notifications');
  await vi.waitFor(
    async () => {
      server.change();
      const { body } = await hub.call('get_notifications');
      expect(JSON.stringify(body)).toContain('notifications/tools/list_changed');
    },
    { timeout: 10_000, interval: 200 },
  );
  expect(logs.map(({ event }) => event)).not.toContain('server_disconnected');
});

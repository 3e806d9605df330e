import type { ServerResponse } from 'node:http';
import { expect, test, vi } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { defer } from '../../support/owned.ts';
import { untilEvent } from '../servers/activity.ts';
import { beginStream, oddServer, sendEvent, textResult } from './odd-server.ts';

const CUTS = 10;
/** Longer than a stream must last for its end to count as no failure. */
const A_WHILE_MS = 10_000;

test('B-2, B-3: a standing stream that is closed repeatedly is reopened each time', async () => {
  let open: ServerResponse | undefined;
  let cut = 0;
  const server = await oddServer({
    GET: ({ response }) => {
      beginStream(response);
      if (cut === CUTS) {
        open = response;
        return;
      }
      cut += 1;
      // It was quiet for a while, by the clock; nobody has to wait for that.
      response.once('finish', () => vi.setSystemTime(Date.now() + A_WHILE_MS));
      setTimeout(() => response.end(), 20);
    },
  });
  defer(async () => void vi.useRealTimers());
  const { url, logs } = await httpGateway({ odd: { url: server.url } });
  const hub = await hubOverHttp(url);
  const stream = await vi.waitFor(
    () => {
      expect(cut).toBe(CUTS);
      if (open === undefined) throw new Error('not open yet');
      return open;
    },
    { timeout: 15_000 },
  );
  sendEvent(stream, { method: 'notifications/resources/updated', params: { uri: 'test://late' } });
  const { event } = await untilEvent(hub, 'notification', 'odd');
  expect(event.data).toMatchObject({ params: { uri: 'test://late' } });
  expect(logs.map((line) => line.event)).not.toContain('server_disconnected');
});

test('B-1: a server that answers GET with 404 can be used', async () => {
  const server = await oddServer({
    GET: ({ response }) => void response.writeHead(404, { 'content-type': 'text/html' }).end('Cannot GET /mcp'),
    'tools/call': ({ reply }) => reply(textResult('ok')),
  });
  const { url, logs } = await httpGateway({ odd: { url: server.url } }, { servers: { pingMs: 50 } });
  const hub = await hubOverHttp(url);
  expect((await hub.call('execute_tool', { server: 'odd', tool: 'any' })).text).toBe('ok');
  await vi.waitFor(() => expect(server.seen.get('GET')).toBeGreaterThan(0), 10_000);
  const pings = server.seen.get('ping') ?? 0;
  await vi.waitFor(() => expect(server.seen.get('ping')).toBeGreaterThan(pings + 3), { timeout: 10_000 });
  expect((await hub.call('execute_tool', { server: 'odd', tool: 'any' })).text).toBe('ok');
  expect((await hub.call('get_server_status', { server: 'odd' })).body).toMatchObject({ status: 'connected' });
  expect(server.seen.get('initialize')).toBe(1);
  expect(logs.map(({ event }) => event)).not.toContain('server_disconnected');
});

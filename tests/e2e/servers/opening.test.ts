import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { rawSession, send } from '../../support/raw-http.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask, echo, statusOf } from './activity.ts';

/** Takes every connection and never says a word. */
async function startMute(): Promise<{ url: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {
      // 'close' follows.
    });
    socket.once('close', () => sockets.delete(socket));
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sockets };
}

/** Nothing listens there. A port that was free a moment ago may be that of another test by now. */
const DEAD_ADDRESS = 'http://127.0.0.1:1/mcp';

test.each<ClientKind>(['v1', 'v2', 'modern'])(
  'S-2: a dead or silent server does not keep a client from using the others (%s)',
  async (kind) => {
    const good = owned(await startV1Http());
    const mute = await startMute();
    const servers = { mute: { url: mute.url }, dead: { url: DEAD_ADDRESS }, good: { url: good.url } };
    // Connecting to the silent one takes half a minute, longer than this test may last.
    const { url } = await httpGateway(servers);
    const hub = await hubOverHttp(url, kind);
    expect(await echo(hub, 'good', 'at once')).toBe('at once');
    expect(mute.sockets.size).toBe(1);
    expect(await statusOf(hub, 'mute')).toMatchObject({ status: 'connecting', connected: false });
    await vi.waitFor(
      async () =>
        expect(await statusOf(hub, 'dead')).toMatchObject({
          status: 'disconnected',
          lastError: expect.stringContaining('ECONNREFUSED'),
        }),
      10_000,
    );
    const failed = await hub.call('execute_tool', { server: 'dead', tool: 'echo', args: { text: 'x' } });
    expect(failed).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_DISCONNECTED' });
    // A call of the silent one waits only as long as its caller wants.
    const slow = await hub.call('execute_tool', { server: 'mute', tool: 'echo', args: {}, timeout_ms: 50 });
    expect(slow.body['proxy_task']).toMatchObject({ server: 'mute', status: 'working' });
  },
);

test('S-2: a session ends without waiting for a server that never answered', async () => {
  const mute = await startMute();
  const { url, gateway } = await httpGateway({ mute: { url: mute.url } });
  const session = await rawSession(url);
  await vi.waitFor(() => expect(mute.sockets.size).toBe(1), 10_000);
  expect((await send(url, { method: 'DELETE', headers: session.headers })).status).toBe(200);
  expect(gateway.sessions).toEqual([]);
  await vi.waitFor(() => expect(mute.sockets.size).toBe(0), 10_000);
});

test('S-2, S-3: a session ends without waiting for a server that it was adding', async () => {
  const mute = await startMute();
  const { url, gateway } = await httpGateway({});
  const session = await rawSession(url);
  const adding = session.reply('add_server', { name: 'mute', url: mute.url });
  const unanswered = expect(adding).rejects.toThrow();
  await vi.waitFor(() => expect(mute.sockets.size).toBe(1), 10_000);
  expect((await send(url, { method: 'DELETE', headers: session.headers })).status).toBe(200);
  await unanswered;
  expect(gateway.registry.size).toBe(0);
  await vi.waitFor(() => expect(mute.sockets.size).toBe(0), 10_000);
});

test('S-2: parallel calls to a server share one connection attempt', async () => {
  const server = owned(await startV1Http());
  const file = join(await temporaryFolder(), 'starts');
  const servers = { http: { url: server.url }, command: v1Stdio({ TEST_START_LOG: file }) };
  const { url, logs } = await httpGateway(servers);
  const hub = await hubOverHttp(url);
  const callers = Array.from({ length: 5 }, () => Promise.all([echo(hub, 'http'), ask(hub, 'command', 'pid')]));
  const answers = await Promise.all(callers);
  expect(new Set(answers.map(([, pid]) => pid)).size).toBe(1);
  expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(1);
  expect(logs.filter(({ event }) => event === 'server_connected')).toHaveLength(2);
});

import { expect, test, vi } from 'vitest';
import { startSse2024 } from '../../servers/sse2024.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { isAlive } from '../../support/alive.ts';
import { httpGateway, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { activity, ask, echo, untilEvent, type Activity } from './activity.ts';

const RECONNECT = { firstMs: 50, maxMs: 100, attempts: 1000 };

/** Somebody waits, nobody calls, and then it happens. */
async function whileWaiting(
  { gateway }: TestGateway,
  hub: HubClient,
  happens: () => void | Promise<void>,
): Promise<Activity> {
  const waiting = activity(hub);
  await vi.waitFor(() => expect(gateway.sessions[0]?.events.counts.waiters).toBe(1), 10_000);
  await happens();
  return waiting;
}

const LOST = expect.objectContaining({ type: 'server_disconnected', server: 'one' });

test('B-2, H-7: a killed command server is noticed at once', async () => {
  const running = await httpGateway({ one: v1Stdio() }, { servers: { reconnect: RECONNECT } });
  const hub = await hubOverHttp(running.url);
  const pid = Number(await ask(hub, 'one', 'pid'));
  const { triggers, events } = await whileWaiting(running, hub, () => void process.kill(pid, 'SIGKILL'));
  expect(triggers).toContainEqual({ type: 'server_disconnected', server: 'one' });
  expect(events).toContainEqual(LOST);
  expect(events[0]?.data).toMatchObject({ name: 'one', reason: 'process was killed by SIGKILL' });
  await untilEvent(hub, 'server_reconnected', 'one');
  expect(Number(await ask(hub, 'one', 'pid'))).not.toBe(pid);
});

test.each([
  { what: 'over Streamable HTTP', start: startV1Http },
  { what: 'of 2024', start: startSse2024 },
])('B-2: a server $what that closes is noticed at once', async ({ start }) => {
  const server = owned(await start());
  const running = await httpGateway({ one: { url: server.url } }, { servers: { reconnect: RECONNECT } });
  const hub = await hubOverHttp(running.url);
  await echo(hub, 'one');
  const { triggers, events } = await whileWaiting(running, hub, () => server.close());
  expect(triggers).toContainEqual({ type: 'server_disconnected', server: 'one' });
  expect(events).toContainEqual(LOST);
  owned(await start({ port: server.port }));
  await untilEvent(hub, 'server_reconnected', 'one');
  expect(await echo(hub, 'one', 'again')).toBe('again');
});

test('B-2: broken streams and a forgotten session are noticed at once', async () => {
  const server = owned(await startV1Http());
  const running = await httpGateway({ one: { url: server.url } }, { servers: { reconnect: RECONNECT } });
  const hub = await hubOverHttp(running.url);
  await echo(hub, 'one');
  const { events } = await whileWaiting(running, hub, () => {
    server.dropSessions();
    server.breakStreams();
  });
  expect(events).toContainEqual(LOST);
  expect(String(events[0]?.data['reason'])).toContain('no longer knows the session');
  await untilEvent(hub, 'server_reconnected', 'one');
  expect(await echo(hub, 'one', 'again')).toBe('again');
});

test('B-2: a broken stream of a running server is reopened without a disconnect', async () => {
  const server = owned(await startV1Http());
  const running = await httpGateway({ one: { url: server.url } }, { servers: { reconnect: RECONNECT } });
  const hub = await hubOverHttp(running.url);
  await echo(hub, 'one');
  const { connections } = server.state;
  server.breakStreams();
  // What comes outside a call comes on the standing stream, which must have been opened again.
  await vi.waitFor(
    async () => {
      const reply = await hub.call('execute_tool', {
        server: 'one',
        tool: 'notify',
        args: { count: 1, detached: true },
      });
      expect(reply.text).toBe('sent 1');
      expect((await activity(hub, 500)).events).toContainEqual(expect.objectContaining({ type: 'notification' }));
    },
    { timeout: 10_000, interval: 200 },
  );
  expect(running.logs.map(({ event }) => event)).not.toContain('server_disconnected');
  expect(server.state.connections).toBe(connections);
});

interface Mortal {
  url: string;
  end: () => void | Promise<void>;
}

const ENDS: { what: string; start: () => Promise<Mortal> }[] = [
  {
    what: 'a server no longer knows the session while its streams stay open',
    start: async () => {
      const server = owned(await startV1Http());
      return { url: server.url, end: () => server.dropSessions() };
    },
  },
  {
    what: 'a server without standing streams went away',
    start: async () => {
      const server = owned(await startV2Http({ era: 'modern' }));
      return { url: server.url, end: () => server.close() };
    },
  },
];

test.each(ENDS)('B-2: a ping detects that $what', async ({ start }) => {
  const server = await start();
  const settings = { servers: { pingMs: 100, reconnect: RECONNECT } };
  const running = await httpGateway({ one: { url: server.url } }, settings);
  const hub = await hubOverHttp(running.url);
  await echo(hub, 'one');
  const { triggers, events } = await whileWaiting(running, hub, server.end);
  expect(triggers).toContainEqual({ type: 'server_disconnected', server: 'one' });
  expect(events).toContainEqual(LOST);
});

test('B-2: a command server that stops answering is killed before the next one starts', async () => {
  const settings = { servers: { pingMs: 100, reconnect: RECONNECT } };
  const running = await httpGateway({ one: v1Stdio() }, settings);
  const hub = await hubOverHttp(running.url);
  const pid = Number(await ask(hub, 'one', 'pid'));
  const { events } = await whileWaiting(running, hub, () => void process.kill(pid, 'SIGSTOP'));
  expect(events).toContainEqual(LOST);
  expect(String(events[0]?.data['reason'])).toContain('ping');
  expect(Number(await ask(hub, 'one', 'pid'))).not.toBe(pid);
  expect(isAlive(pid)).toBe(false);
});

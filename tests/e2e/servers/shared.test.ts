import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ServerConfig } from '../../../src/core/ports/server-config.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { isAlive } from '../../support/alive.ts';
import { httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type ClientKind, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { post, send } from '../../support/raw-http.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { textOf } from '../direct/answered.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import { ask, echo, untilEvent } from './activity.ts';

const SHARED = { share: 'principal' } as const;

/** A shared command server that writes down each of its starts. */
async function recorded(
  stdio: (env: Record<string, string>) => ServerConfig = v1Stdio,
): Promise<{ config: ServerConfig; starts: () => Promise<number[]> }> {
  const file = join(await temporaryFolder(), 'starts');
  const starts = async (): Promise<number[]> =>
    readFile(file, 'utf8').then(
      (text) => text.trim().split('\n').map(Number),
      () => [],
    );
  return { config: { ...stdio({ TEST_START_LOG: file }), ...SHARED }, starts };
}

async function sessions(url: string, count: number, kind: ClientKind = 'v1'): Promise<HubClient[]> {
  return Promise.all(Array.from({ length: count }, () => hubOverHttp(url, kind)));
}

/** Ends the session, as a client does that leaves for good. */
async function end(url: string, hub: HubClient): Promise<void> {
  const headers = { 'mcp-session-id': hub.sessionId() ?? '', 'mcp-protocol-version': '2025-11-25' };
  expect((await send(url, { method: 'DELETE', headers })).status).toBe(200);
}

async function questions(hub: HubClient): Promise<Json[]> {
  return (await hub.call('get_elicitations')).body['elicitations'] as Json[];
}

describe('S-2: sessions that share a server', () => {
  test('S-2: share one process, which ends with the last session', async () => {
    const { config, starts } = await recorded();
    const { url } = await httpGateway({ one: config });
    const hubs = await sessions(url, 5);
    const pids = await Promise.all(hubs.map((hub) => ask(hub, 'one', 'pid')));
    expect(new Set(pids).size).toBe(1);
    const [pid = 0] = await starts();
    expect(await starts()).toHaveLength(1);
    for (const hub of hubs.slice(1)) await end(url, hub);
    expect(isAlive(pid)).toBe(true);
    const [last] = hubs as [HubClient];
    expect(await echo(last, 'one', 'still here')).toBe('still here');
    await end(url, last);
    expect(isAlive(pid)).toBe(false);
    // The next session starts it again.
    expect(await echo((await sessions(url, 1))[0] as HubClient, 'one', 'again')).toBe('again');
    expect(await starts()).toHaveLength(2);
  });

  test('S-2: all see the server connected, with its tools', async () => {
    const { url } = await httpGateway({ one: { ...v2Stdio(), ...SHARED } });
    for (const hub of await sessions(url, 2, 'v2')) {
      const { body } = await hub.call('list_tools', { server: 'one' });
      expect((body['tools'] as Json[]).map(({ name }) => name)).toContain('echo');
      const { body: status } = await hub.call('get_server_status', { server: 'one' });
      expect(status).toMatchObject({ connected: true });
    }
  });

  test('S-2: do not share it with another principal, or without `share` in the config', async () => {
    const { config, starts } = await recorded();
    const own = await recorded();
    const { share: _share, ...unshared } = own.config;
    const tokens = { alice: 'the-token-of-alice', bob: 'the-token-of-bob-2' };
    const { url } = await httpGateway({ one: config, own: unshared }, { auth: { tokens } });
    for (const token of [tokens.alice, tokens.alice, tokens.bob]) {
      const hub = await hubOverHttp(url, 'v1', { authorization: `Bearer ${token}` });
      await echo(hub, 'one');
      await echo(hub, 'own');
    }
    expect(await starts()).toHaveLength(2);
    expect(await own.starts()).toHaveLength(3);
  });

  test('S-1, S-2: a session that ends cancels only its own calls', async () => {
    const server = owned(await startV1Http());
    const { url } = await httpGateway({ one: { url: server.url, ...SHARED } });
    const [leaver, stayer] = (await sessions(url, 2)) as [HubClient, HubClient];
    const slow = (text: string) => ({ server: 'one', tool: 'slow', args: { ms: 60_000, text }, timeout_ms: 0 });
    await leaver.call('execute_tool', slow('leaver'));
    await expect.poll(() => server.state.calls.length).toBe(1);
    const known = server.state.sessions.size;
    await stayer.call('execute_tool', slow('stayer'));
    await expect.poll(() => server.state.calls.length).toBe(2);
    expect(server.state.sessions.size).toBe(known);
    await end(url, leaver);
    await expect.poll(() => server.state.cancelled).toEqual(['slow:leaver']);
    expect(await echo(stayer, 'one', 'goes on')).toBe('goes on');
    const { body } = await stayer.call('list_tasks');
    expect(body['tasks']).toHaveLength(1);
  });

  test('S-1, S-2: a question reaches only the session whose call asks it', async () => {
    const { config } = await recorded();
    const { url } = await httpGateway({ one: config });
    const [asker, other] = (await sessions(url, 2)) as [HubClient, HubClient];
    await echo(other, 'one');
    const asked = await asker.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
    expect(asked.elicitations).toHaveLength(1);
    expect(await questions(other)).toEqual([]);
    const request_id = asked.elicitations[0]?.requestId;
    await asker.call('respond_to_elicitation', { request_id, action: 'accept', content: { name: 'Ada' } });
    expect((await asker.call('get_task_result', { task_id: taskIdOf(asked) })).text).toBe('Hello Ada');
  });

  test('S-1, S-2: a question that names its call reaches only the session of that call', async () => {
    const server = owned(await startV1Http());
    const { url } = await httpGateway({ one: { url: server.url, ...SHARED } });
    const [asker, working] = (await sessions(url, 2)) as [HubClient, HubClient];
    await working.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 0 });
    await expect.poll(() => server.state.calls.length).toBe(1);
    const asked = await asker.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
    expect(asked.elicitations).toMatchObject([{ taskId: taskIdOf(asked) }]);
    expect(await questions(working)).toEqual([]);
  });

  test('S-1, S-2: a question of unknown origin reaches all sessions with an open call, and one answer ends it', async () => {
    const { config } = await recorded();
    const { url } = await httpGateway({ one: config });
    const [asker, working, idle] = (await sessions(url, 3)) as [HubClient, HubClient, HubClient];
    await echo(idle, 'one');
    await working.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 0 });
    const begun = await asker.call('execute_tool', { server: 'one', tool: 'ask', args: {}, timeout_ms: 1 });
    await expect.poll(async () => (await questions(asker)).length).toBe(1);
    expect(await questions(working)).toHaveLength(1);
    expect(await questions(idle)).toEqual([]);
    const [{ requestId } = {}] = await questions(asker);
    const answer = { request_id: requestId, action: 'accept', content: { name: 'Ada' } };
    expect((await asker.call('respond_to_elicitation', answer)).body).toMatchObject({ success: true });
    expect((await asker.call('get_task_result', { task_id: taskIdOf(begun) })).text).toBe('Hello Ada');
    expect(await questions(working)).toEqual([]);
  });

  test('S-2, E-3: all sessions get list changes, and only subscribers get resource updates', async () => {
    const { config } = await recorded();
    const { url } = await httpGateway({ one: config });
    const [one, two, three] = (await sessions(url, 3)) as [HubClient, HubClient, HubClient];
    await echo(three, 'one');
    const watched = { server: 'one', uri: 'test://watched' };
    await one.call('subscribe_resource', watched);
    await two.call('subscribe_resource', watched);
    await ask(three, 'one', 'list_changed');
    for (const hub of [one, two]) await untilEvent(hub, 'notification', 'one');
    await one.call('unsubscribe_resource', watched);
    expect(await ask(three, 'one', 'touch', { uri: 'test://watched' })).toBe('touched 1');
    const updates = async (hub: HubClient): Promise<number> => {
      const { body } = await hub.call('get_notifications', { include_delivered: true });
      return (body['notifications'] as Json[]).filter(({ method }) => method === 'notifications/resources/updated')
        .length;
    };
    await expect.poll(() => updates(two)).toBe(1);
    expect([await updates(one), await updates(three)]).toEqual([0, 0]);
    await two.call('unsubscribe_resource', watched);
    expect(await ask(three, 'one', 'touch', { uri: 'test://watched' })).toBe('touched 0');
  });

  test('B-3, S-2: all sessions are notified of its loss, and share the next process', async () => {
    const { config, starts } = await recorded();
    const { url } = await httpGateway({ one: config }, { servers: { reconnect: { firstMs: 20 } } });
    const [one, two] = (await sessions(url, 2)) as [HubClient, HubClient];
    await echo(one, 'one');
    const slow = { server: 'one', tool: 'slow', args: { ms: 60_000 }, timeout_ms: 0 };
    await two.call('execute_tool', slow);
    const [pid = 0] = await starts();
    process.kill(pid, 'SIGKILL');
    await untilEvent(one, 'server_disconnected', 'one');
    const { all } = await untilEvent(two, 'server_disconnected', 'one');
    expect(all.map(({ type }) => type)).toContain('task_failed');
    const pids = await Promise.all([one, two].map((hub) => ask(hub, 'one', 'pid')));
    expect(new Set(pids).size).toBe(1);
    expect(await starts()).toHaveLength(2);
  });
});

test('S-2, D-5: direct clients share it if they agree on the roots capability', async () => {
  const { config, starts } = await recorded();
  const { url } = await httpGateway({ one: config });
  const direct = `${url}/one`;
  const legacy = async (capabilities: Json): Promise<LegacyWire> => LegacyWire.open(direct, { capabilities });
  const echoes = async (wires: (LegacyWire | ModernWire)[]): Promise<void> => {
    for (const wire of wires) {
      const call = { name: 'echo', arguments: { text: 'hi' } };
      expect(await wire.request('tools/call', call)).toMatchObject({ content: [{ text: 'hi' }] });
    }
  };
  await echoes([await legacy({}), await legacy({})]);
  expect(await starts()).toHaveLength(1);
  // A server learns with the connection whether it may ask for roots; clients without sessions may have some later.
  await echoes([
    await legacy({ roots: {} }),
    await legacy({ roots: {} }),
    new ModernWire(direct),
    new ModernWire(direct),
  ]);
  expect(await starts()).toHaveLength(2);
});

test('S-2, D-5: each direct client gets the log messages of its own request and level', async () => {
  const { url } = await httpGateway({ one: { ...v1Stdio(), ...SHARED } });
  const direct = `${url}/one`;
  const levels = async (wire: LegacyWire, level: string): Promise<unknown[]> => {
    const { message, headers } = wire.raw('tools/call', { name: 'log', arguments: { count: 1, level } });
    const { text } = await post(direct, message, headers);
    expect(text).toContain('logged 1');
    return [...text.matchAll(/"level":"(\w+)"/g)].map(([, heard]) => heard);
  };
  const [quiet, verbose] = [await LegacyWire.open(direct), await LegacyWire.open(direct)];
  await quiet.request('logging/setLevel', { level: 'error' });
  await verbose.request('logging/setLevel', { level: 'debug' });
  expect(await levels(quiet, 'error')).toEqual(['error']);
  expect(await levels(quiet, 'info')).toEqual([]);
  expect(await levels(verbose, 'info')).toEqual(['info']);
  // The level of a client that has left counts no more.
  await verbose.end();
  await quiet.request('logging/setLevel', { level: 'error' });
  expect(textOf(await quiet.call('log', { count: 1, level: 'info' }))).toBe('filtered');
});

import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { isAlive } from '../../support/alive.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, hubOverStdio, taskIdOf, type HubClient, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask, echo, statusOf, untilEvent } from './activity.ts';

async function names(hub: HubClient): Promise<string[]> {
  const { body } = await hub.call('list_servers');
  return (body['servers'] as { name: string }[]).map(({ name }) => name);
}

/** Nothing listens there. A port that was free a moment ago may be that of another test by now. */
const DEAD_ADDRESS = 'http://127.0.0.1:1/mcp';

const slow = (hub: HubClient, server: string) =>
  hub.call('execute_tool', { server, tool: 'slow', args: { ms: 600_000 }, timeout_ms: 0 });

test('S-3: a server that one session adds is there for all sessions', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({});
  const [caller, other] = [await hubOverHttp(url), await hubOverHttp(url, 'modern')];
  expect(await names(other)).toEqual([]);
  const added = await caller.call('add_server', { name: 'one', url: server.url });
  expect(added.body).toMatchObject({ name: 'one', instructions: 'Use echo to hear yourself.' });
  expect(added.body['tools']).toContainEqual({ name: 'echo', description: 'Returns the text it was given' });
  expect(added.events).toEqual([]);

  const { all } = await untilEvent(other, 'server_connected', 'one');
  expect(all.map(({ type }) => type)).toEqual(['server_added', 'server_connected']);
  expect(all[0]).toMatchObject({
    server: 'one',
    data: { name: 'one', url: server.url, addedBy: 'another session', replaced: false },
  });
  expect(await echo(other, 'one', 'mine too')).toBe('mine too');
  const late = await hubOverHttp(url);
  expect(await names(late)).toEqual(['one']);
  expect(await echo(late, 'one', 'and mine')).toBe('and mine');
});

test('S-3, X-2: over stdio a server can be added by its command', async () => {
  const hub = await hubOverStdio({});
  const { command, args } = v1Stdio();
  const added = await hub.call('add_server', { name: 'one', command, args, env: { GREETING: 'hello' } });
  expect(added.body).toMatchObject({ name: 'one' });
  expect(await ask(hub, 'one', 'env', { name: 'GREETING' })).toBe('hello');
});

test('S-3: adding an existing name with another address replaces the server for all sessions', async () => {
  const [before, after] = [owned(await startV1Http()), owned(await startV2Http())];
  const { url } = await httpGateway({ one: { url: before.url } });
  const [caller, other] = [await hubOverHttp(url), await hubOverHttp(url)];
  await Promise.all([echo(caller, 'one'), echo(other, 'one')]);
  const running = taskIdOf(await slow(other, 'one'));

  expect((await caller.call('add_server', { name: 'one', url: after.url })).isError).toBe(false);
  const { event, all } = await untilEvent(other, 'server_added', 'one');
  expect(event.data).toMatchObject({ name: 'one', replaced: true });
  expect(all).toContainEqual(
    expect.objectContaining({ type: 'task_failed', data: expect.objectContaining({ taskId: running }) }),
  );
  for (const hub of [caller, other]) {
    expect(await echo(hub, 'one', 'new')).toBe('new');
    expect(await statusOf(hub, 'one')).toMatchObject({ implementation: { name: 'v2-test-server' } });
  }
  expect(after.state.calls.filter(({ tool }) => tool === 'echo')).toHaveLength(2);
  await vi.waitFor(() => expect(before.state.cancelled).toEqual(['slow']), 10_000);
  expect(await names(caller)).toEqual(['one']);
});

test('S-3: adding the same server again changes nothing', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const [caller, other] = [await hubOverHttp(url), await hubOverHttp(url)];
  await echo(other, 'one');
  const running = taskIdOf(await slow(other, 'one'));
  expect((await caller.call('add_server', { name: 'one', url: server.url })).isError).toBe(false);
  const { body, events } = await other.call('get_task', { task_id: running });
  expect(body['task']).toMatchObject({ status: 'working' });
  expect(events).toEqual([]);
});

test('S-3: add_server does not keep a server that cannot be reached', async () => {
  const { url, gateway } = await httpGateway({}, { servers: { reconnect: { firstMs: 10, maxMs: 10 } } });
  const [caller, other] = [await hubOverHttp(url), await hubOverHttp(url)];
  const failed = await caller.call('add_server', { name: 'one', url: DEAD_ADDRESS });
  expect(failed).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_UNREACHABLE' });
  expect(failed.text).toContain('ECONNREFUSED');
  expect(await names(caller)).toEqual([]);
  expect((await other.call('execute_tool', { server: 'one', tool: 'echo' })).code).toBe('TOOL_ERR_SERVER_NOT_FOUND');
  expect((await other.call('list_servers')).events).toEqual([]);
  expect(await gateway.store.servers()).toEqual([]);
});

test('S-3: an unreachable replacement leaves the old server and its calls running', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const [caller, other] = [await hubOverHttp(url), await hubOverHttp(url)];
  await Promise.all([echo(caller, 'one'), echo(other, 'one')]);
  const mine = taskIdOf(await slow(caller, 'one'));
  const theirs = taskIdOf(await slow(other, 'one'));
  const { connections } = server.state;
  const failed = await caller.call('add_server', { name: 'one', url: DEAD_ADDRESS });
  expect(failed).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_UNREACHABLE' });
  for (const [hub, task_id] of [
    [caller, mine],
    [other, theirs],
  ] as const) {
    expect((await hub.call('get_task', { task_id })).body['task']).toMatchObject({ status: 'working' });
    expect(await statusOf(hub, 'one')).toMatchObject({ status: 'connected', url: server.url });
    expect(await echo(hub, 'one', 'still there')).toBe('still there');
  }
  expect(server.state.connections).toBe(connections);
});

test('S-3: removing a server removes it for all sessions and ends its calls', async () => {
  const [server, kept] = [owned(await startV1Http()), owned(await startV1Http())];
  const servers = { one: { url: server.url }, command: v1Stdio(), kept: { url: kept.url } };
  const { url } = await httpGateway(servers);
  const [caller, other] = [await hubOverHttp(url), await hubOverHttp(url, 'v2')];
  const pids: number[] = [];
  for (const hub of [caller, other]) {
    await echo(hub, 'one');
    pids.push(Number(await ask(hub, 'command', 'pid')));
  }
  const running = taskIdOf(await slow(other, 'one'));
  const asking = await other.call('execute_tool', { server: 'one', tool: 'ask', args: {} });
  const waiting = other.call('get_task_result', { task_id: running });
  const untouched = taskIdOf(await slow(other, 'kept'));

  expect((await caller.call('remove_server', { name: 'one' })).body).toMatchObject({ success: true });
  await caller.call('remove_server', { name: 'command' });
  const failed = await waiting;
  expect(failed).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(failed.text).toContain("server 'one' was removed");
  const seen = [...failed.events];
  if (!seen.some(({ type }) => type === 'server_removed')) {
    seen.push(...(await untilEvent(other, 'server_removed', 'one')).all);
  }
  expect(seen).toContainEqual(
    expect.objectContaining({
      type: 'server_removed',
      server: 'one',
      data: { name: 'one', removedBy: 'another session' },
    }),
  );
  expect(seen.filter(({ type }) => type === 'task_failed')).toHaveLength(2);
  const question: Json = { requestId: asking.elicitations[0]?.requestId };
  expect(seen).toContainEqual(
    expect.objectContaining({ type: 'elicitation_expired', data: expect.objectContaining(question) }),
  );

  for (const hub of [caller, other]) {
    expect(await names(hub)).toEqual(['kept']);
    const reply = await hub.call('execute_tool', { server: 'one', tool: 'echo', args: { text: 'x' } });
    expect(reply).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_NOT_FOUND' });
    expect(reply.text).toContain("no server 'one'; known: kept");
  }
  expect(pids.filter(isAlive)).toEqual([]);
  await vi.waitFor(() => expect(server.state.cancelled.toSorted()).toEqual(['ask', 'slow']), 10_000);
  expect((await other.call('get_task', { task_id: untouched })).body['task']).toMatchObject({ status: 'working' });
  expect((await caller.call('remove_server', { name: 'one' })).code).toBe('TOOL_ERR_SERVER_NOT_FOUND');
});

test('S-3, X-4, O-1: the address of a server is shown and logged without secrets', async () => {
  const server = owned(await startV1Http());
  const { url, logs } = await httpGateway({});
  const [caller, other] = [await hubOverHttp(url), await hubOverHttp(url)];
  await caller.call('add_server', { name: 'one', url: `${server.url}?key=hidden` });
  const { event } = await untilEvent(other, 'server_added', 'one');
  expect(event.data['url']).toBe(`${server.url}?key=***`);
  const connected = logs.find((line) => line.event === 'server_connected');
  expect(connected?.data).toMatchObject({ server: 'one', url: `${server.url}?key=***` });
  const removed = await caller.call('remove_server', { name: 'one' });
  expect(removed.events).toMatchObject([{ type: 'server_removed', data: { removedBy: 'this session' } }]);
  await echo(other, 'one').catch(() => {});
  await caller.call('add_server', { name: 'one', url: server.url });
  await ask(caller, 'one', 'env', { name: 'HOME' });
  await caller.call('execute_tool', { server: 'one', tool: 'pid' });
  const started = logs.filter((line) => line.event === 'tool_execution_start').map(({ data }) => data);
  expect(started).toContainEqual(expect.objectContaining({ tool: 'env', hasArgs: true }));
  expect(started).toContainEqual(expect.objectContaining({ tool: 'pid', hasArgs: false }));
});

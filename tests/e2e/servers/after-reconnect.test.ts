import { expect, test, vi } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask, echo, untilEvent } from './activity.ts';
import { wireTo } from './wire.ts';

const SETTINGS = { servers: { pingMs: 200, reconnect: { firstMs: 50, maxMs: 100, attempts: 1000 } } };

async function toolNames(hub: HubClient): Promise<string[]> {
  const { body } = await hub.call('list_tools', { server: 'one' });
  return (body['tools'] as { name: string }[]).map(({ name }) => name);
}

test('B-3: a reconnect to another server process is reported as restart, and its lists are read again', async () => {
  const before = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: before.url } }, SETTINGS);
  const hub = await hubOverHttp(url);
  expect(await toolNames(hub)).toContain('crash');
  await before.close();
  // The same address, and other tools.
  owned(await startV2Http({ port: before.port }));
  const { event } = await untilEvent(hub, 'server_reconnected', 'one');
  expect(event.data).toMatchObject({
    name: 'one',
    type: 'restart',
    refreshedTools: true,
    refreshedResources: true,
    refreshedPrompts: true,
  });
  const names = await toolNames(hub);
  expect(names).toContain('ask_twice');
  expect(names).not.toContain('crash');
});

test('B-3: a command server that was started again is reported as restart', async () => {
  const { url } = await httpGateway({ one: v1Stdio() }, SETTINGS);
  const hub = await hubOverHttp(url);
  process.kill(Number(await ask(hub, 'one', 'pid')), 'SIGKILL');
  expect((await untilEvent(hub, 'server_reconnected', 'one')).event.data).toMatchObject({ type: 'restart' });
});

const sessionsOf = (state: object): unknown[] =>
  'sessions' in state ? Array.from(state.sessions as Iterable<unknown>) : [];

const OUT_OF_REACH = [
  ['without sessions', () => startV2Http({ era: 'modern' })],
  ['that still knows our session', () => startV1Http()],
] as const;

test.each(OUT_OF_REACH)(
  'B-3: a server %s that was only unreachable is reported as network blip',
  async (_kind, start) => {
    const server = owned(await start());
    const wire = await wireTo(server.port);
    const { url } = await httpGateway({ one: { url: `http://127.0.0.1:${wire.port}/mcp` } }, SETTINGS);
    const hub = await hubOverHttp(url);
    await echo(hub, 'one');
    const sessions = sessionsOf(server.state);
    await wire.cut();
    await untilEvent(hub, 'server_disconnected', 'one');
    await wire.mend();
    expect((await untilEvent(hub, 'server_reconnected', 'one')).event.data).toMatchObject({ type: 'network_blip' });
    expect(await echo(hub, 'one', 'again')).toBe('again');
    expect(sessionsOf(server.state).every((session, index) => session === sessions[index])).toBe(true);
  },
);

test('B-3: the questions of a killed command server end with the reason and are counted', async () => {
  const { url } = await httpGateway({ one: v1Stdio() }, SETTINGS);
  const hub = await hubOverHttp(url);
  const pid = Number(await ask(hub, 'one', 'pid'));
  const asking = await hub.call('execute_tool', { server: 'one', tool: 'ask' });
  process.kill(pid, 'SIGKILL');
  const { event, all } = await untilEvent(hub, 'server_reconnected', 'one');
  expect(event.data).toMatchObject({ invalidatedTasks: 1, invalidatedElicitations: 1 });
  const expired = all.find(({ type }) => type === 'elicitation_expired');
  expect(expired?.data).toEqual({
    requestId: asking.elicitations[0]?.requestId,
    reason: expect.stringContaining('process was killed by SIGKILL'),
  });
});

test('B-3: open calls on a lost server fail with the reason, and finished tasks stay', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, SETTINGS);
  const hub = await hubOverHttp(url);
  const execute = (tool: string, args: object, timeout_ms = 60_000) =>
    hub.call('execute_tool', { server: 'one', tool, args, timeout_ms });

  const finished = taskIdOf(await execute('slow', { ms: 100, text: 'kept' }, 0));
  await hub.call('get_task_result', { task_id: finished });
  const asking = await execute('ask', {});
  const slow = taskIdOf(await execute('slow', { ms: 600_000 }, 0));
  const waiting = hub.call('get_task_result', { task_id: slow });
  const open = execute('slow', { ms: 600_000, text: 'open' });
  await vi.waitFor(() => expect(server.state.calls.filter(({ tool }) => tool === 'slow')).toHaveLength(3), 10_000);
  await server.close();

  expect(await open).toMatchObject({ isError: true, code: 'TOOL_ERR_SERVER_DISCONNECTED' });
  const lost = await waiting;
  expect(lost).toMatchObject({ isError: true, code: 'TOOL_ERR_EXECUTION_FAILED' });
  expect(lost.text).toContain("server 'one' disconnected: ");
  owned(await startV1Http({ port: server.port }));
  const { event, all } = await untilEvent(hub, 'server_reconnected', 'one');
  expect(event.data).toMatchObject({ invalidatedTasks: 2, invalidatedElicitations: 1, invalidatedSampling: 0 });
  const seen = [...asking.events, ...lost.events, ...all, ...(await open).events];
  const [question] = asking.elicitations;
  expect(seen).toContainEqual(
    expect.objectContaining({
      type: 'elicitation_expired',
      data: { requestId: question?.requestId, reason: expect.stringContaining('disconnected') },
    }),
  );
  expect(seen.filter(({ type }) => type === 'task_failed')).toHaveLength(2);
  expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
  const answer = { request_id: question?.requestId, action: 'accept', content: { name: 'Ada' } };
  expect((await hub.call('respond_to_elicitation', answer)).code).toBe('TOOL_ERR_REQUEST_NOT_FOUND');
  expect((await hub.call('get_task', { task_id: taskIdOf(asking) })).body['task']).toMatchObject({ status: 'failed' });
  expect((await hub.call('get_task_result', { task_id: finished })).text).toBe('kept');
});

test('B-3: resource subscriptions are renewed on a server that returns', async () => {
  const before = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: before.url } }, SETTINGS);
  const hub = await hubOverHttp(url);
  await hub.call('subscribe_resource', { server: 'one', uri: 'test://watched' });
  await hub.call('subscribe_resource', { server: 'one', uri: 'test://text' });
  await hub.call('unsubscribe_resource', { server: 'one', uri: 'test://text' });
  expect([...before.state.subscriptions]).toEqual(['test://watched']);
  await before.close();
  const after = owned(await startV1Http({ port: before.port }));
  await vi.waitFor(() => expect([...after.state.subscriptions]).toEqual(['test://watched']), { timeout: 10_000 });
  await untilEvent(hub, 'server_reconnected', 'one');
  const touched = await hub.call('execute_tool', { server: 'one', tool: 'touch', args: { uri: 'test://watched' } });
  expect(touched.text).toBe('touched 1');
  const { method, params } = touched.events[0]?.data ?? (await untilEvent(hub, 'notification', 'one')).event.data;
  expect({ method, params }).toEqual({ method: 'notifications/resources/updated', params: { uri: 'test://watched' } });
});

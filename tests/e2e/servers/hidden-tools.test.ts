import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { runCommand } from '../../support/command.ts';
import { configFile, httpGateway, temporaryFolder } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { ModernWire } from '../direct/modern-wire.ts';

const PATTERNS = { include: ['echo', 'h*', 'required', 'xyz'], exclude: ['HOLD'] };
const SHOWN = ['echo', 'required'];
const UNKNOWN = { code: -32602, message: 'Unknown tool: hold' };

const namesOf = (tools: unknown): string[] => (tools as Json[]).map(({ name }) => String(name)).toSorted();

/** Calls of a hidden tool, and some that a careless server could take for one. */
const REFUSED: Json[] = [
  { name: 'hold' },
  { name: 'hold', arguments: { text: 'x' } },
  { name: 'hold', arguments: 'odd' },
  { name: ['hold'], arguments: {} },
  { name: { hold: 1 } },
  {},
];

test('M-6: hidden tools are not listed and cannot be called, at the hub and at direct endpoints', async () => {
  const servers = { core: owned(await startTasksV1Http()), ext: owned(await startTasksV2Http()) };
  const gateway = await httpGateway(
    {
      core: { url: servers.core.url, ...PATTERNS },
      ext: { url: servers.ext.url, share: 'principal', ...PATTERNS },
    },
    { groups: { none: { servers: [] } } },
  );
  const doubts = gateway.logs.filter(({ event }) => event === 'config_warning');
  expect(doubts).toMatchObject([
    { level: 'warn', data: { message: expect.stringMatching(/groups\.none: this group/) as string } },
  ]);
  const hub = await hubOverHttp(gateway.url);
  for (const server of ['core', 'ext'] as const) {
    expect(namesOf((await hub.call('list_tools', { server })).body['tools'])).toEqual(SHOWN);
    const refused = await hub.call('execute_tool', { server, tool: 'hold', args: {} });
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(UNKNOWN.message) as string });
    expect((await hub.call('execute_tool', { server, tool: 'echo', args: { text: 'shown' } })).text).toBe('shown');
    // What the list said about this tool is known, though the list was filtered.
    const required = await hub.call('execute_tool', { server, tool: 'required', args: {}, timeout_ms: 10_000 });
    expect(required.isError).toBe(false);

    const legacy = await LegacyWire.open(`${gateway.url}/${server}`);
    const modern = new ModernWire(`${gateway.url}/${server}`);
    await legacy.notify('tools/call', { name: 'hold' });
    for (const client of [legacy, modern]) {
      const { tools } = await client.request('tools/list');
      expect(namesOf(tools)).toEqual(SHOWN);
      for (const params of REFUSED) expect(await client.error('tools/call', params)).toMatchObject({ code: -32602 });
      expect(await client.error('tools/call', { name: 'hold' })).toMatchObject(UNKNOWN);
    }
    const { taskId } = await legacy.begin('hold');
    expect(await legacy.error('tasks/result', { taskId })).toMatchObject(UNKNOWN);
    const called = requestsOf(servers[server].state, 'tools/call').map(({ params }) => String(params?.['name']));
    expect([...new Set(called)].toSorted()).toEqual(SHOWN);
  }
  // A client that adds the same server again does not change which tools it shows.
  const added = await hub.call('add_server', { name: 'core', url: servers.core.url });
  expect(namesOf(added.body['tools'])).toEqual(SHOWN);
  expect(await hub.call('add_server', { name: 'all', url: servers.core.url })).toMatchObject({
    code: 'TOOL_ERR_INVALID_ARGUMENT',
    text: expect.stringContaining("'all' is the name of the endpoint of all servers") as string,
  });
  const warnings = gateway.logs.filter(({ event }) => event === 'tool_pattern_unmatched').map(({ data }) => data);
  expect(warnings).toEqual([
    { server: 'core', pattern: 'xyz' },
    { server: 'ext', pattern: 'xyz' },
  ]);
});

test('M-6: open calls of a tool that is hidden after a restart continue, and new ones are refused', async () => {
  const tasks = owned(await startTasksV1Http());
  const rounds = owned(await startV2Http({ era: 'modern' }));
  const urls = { tasks: { url: tasks.url }, rounds: { url: rounds.url } };
  const settings = { store: join(await temporaryFolder(), 'store.db') };
  const first = await httpGateway(urls, settings);
  const before = await hubOverHttp(first.url, 'modern');
  const hold = { server: 'tasks', tool: 'hold', args: { text: 'held' } };
  const held = taskIdOf(await before.call('execute_tool', { ...hold, timeout_ms: 300 }));
  const ask = { server: 'rounds', tool: 'ask', args: { message: 'Who?' } };
  const asking = await before.call('execute_tool', { ...ask, timeout_ms: 10_000 });
  await first.close();

  const hidden = { tasks: { ...urls.tasks, exclude: ['hold'] }, rounds: { ...urls.rounds, include: ['echo'] } };
  const after = await hubOverHttp((await httpGateway(hidden, settings)).url, 'modern');
  for (const call of [hold, ask]) expect((await after.call('execute_tool', call)).text).toContain('Unknown tool');
  tasks.state.release();
  expect((await after.call('get_task_result', { task_id: held })).text).toBe('held');
  const [question] = asking.elicitations;
  const answer = { request_id: question?.requestId, action: 'accept', content: { name: 'Ada' } };
  await after.call('respond_to_elicitation', answer);
  expect((await after.call('get_task_result', { task_id: taskIdOf(asking) })).text).toBe('Hello Ada');
});

test('M-6: hidden tools are hidden on the command line, too', async () => {
  const server = owned(await startTasksV1Http());
  const config = await configFile({ far: { url: server.url, ...PATTERNS } });
  const listed = await runCommand(['tools', 'far', '--config', config, '--json']);
  expect(namesOf((JSON.parse(listed.stdout) as Json)['tools'])).toEqual(SHOWN);
  expect(await runCommand(['call', 'far', 'echo', 'text=hi', '--config', config])).toMatchObject({ stdout: 'hi' });
  const refused = await runCommand(['call', 'far', 'hold', '--config', config]);
  expect(refused.code).not.toBe(0);
  expect(requestsOf(server.state, 'tools/call')).toHaveLength(1);
});

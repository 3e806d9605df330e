import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, type Servers } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio, v2Stdio } from '../../support/servers.ts';
import { hubThrough, WAYS } from './doors.ts';
import { settle, taskOf } from './watch.ts';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const ISO: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test.each(WAYS)(
  'H-2, H-3, T-6: a slow call becomes a task, with every specified field in the reply ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await hubThrough(way, { one: { url: server.url } });
    await settle(hub);
    const promoted = await hub.call('execute_tool', {
      server: 'one',
      tool: 'slow',
      args: { ms: 400, text: 'done at last' },
      timeout_ms: 50,
    });
    const id = taskIdOf(promoted);
    expect(id).toMatch(ULID);
    expect(promoted.raw['isError']).toBe(false);
    // All that an event would say stands in the reply.
    expect(promoted.raw.content).toHaveLength(2);
    expect(promoted.text).toBe(
      `Tool call exceeded timeout (50ms). Promoted to task ${id}. Use get_task_result to retrieve the result when ready.`,
    );
    const task = {
      task_id: id,
      status: 'working',
      created_at: ISO,
      last_updated_at: ISO,
      server: 'one',
      tool: 'slow',
      ttl_ms: 300_000,
    };
    expect(JSON.parse(String(promoted.raw.content[1]?.['text']))).toEqual({
      proxy_task: task,
      pending_on_server: { tasks: [], elicitations_for_server: [] },
    });

    const result = await hub.call('get_task_result', { task_id: id });
    expect(result.raw.content[0]).toEqual({ type: 'text', text: 'done at last' });
    expect(result.events.map(({ type }) => type)).toEqual(['task_completed']);
    expect(result.raw.content).toHaveLength(2);
    expect(await taskOf(hub, id)).toMatchObject({ status: 'completed' });

    // What is done is done: the result can be read again, and now nothing is added to it.
    const again = await hub.call('get_task_result', { task_id: id });
    expect(again.raw.content).toEqual([{ type: 'text', text: 'done at last' }]);
  },
);

const SERVERS: { name: string; start: () => Promise<Servers[string]> }[] = [
  { name: 'v1 over http', start: async () => ({ url: owned(await startV1Http()).url }) },
  {
    name: 'v1 over http without sessions',
    start: async () => ({ url: owned(await startV1Http({ sessions: false })).url }),
  },
  { name: 'v1 over stdio', start: async () => v1Stdio() },
  { name: 'v2 over http', start: async () => ({ url: owned(await startV2Http()).url }) },
  { name: 'modern over http', start: async () => ({ url: owned(await startV2Http({ era: 'modern' })).url }) },
  { name: 'v2 over stdio', start: async () => v2Stdio() },
];

test.each(SERVERS)('H-3, B-1: a slow call of a server ($name) becomes a task', async ({ start }) => {
  const { url } = await httpGateway({ one: await start() });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const promoted = await hub.call('execute_tool', {
    server: 'one',
    tool: 'slow',
    args: { ms: 300, text: 'still here' },
    timeout_ms: 20,
  });
  const result = await hub.call('get_task_result', { task_id: taskIdOf(promoted) });
  expect(result.text).toBe('still here');
});

test('H-3, S-4: a server that never answers initialize delays neither the reply to a call nor the shutdown', async () => {
  const running = await httpGateway({
    silent: { command: process.execPath, args: ['-e', 'process.stdin.resume()'] },
  });
  const hub = await hubOverHttp(running.url);
  const promoted = await hub.call('execute_tool', { server: 'silent', tool: 'any', timeout_ms: 50 });
  expect(await taskOf(hub, taskIdOf(promoted))).toMatchObject({ status: 'working', server: 'silent' });
  // Waiting for the handshake to time out would take longer than this test may.
  await running.close();
  expect(running.gateway.sessions).toEqual([]);
});

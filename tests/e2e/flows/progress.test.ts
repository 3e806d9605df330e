import { expect, test } from 'vitest';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { v1Stdio } from '../../support/servers.ts';
import { hubThrough, WAYS } from './doors.ts';
import { awaitActivity, settle, soon, taskOf } from './watch.ts';

interface Step {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

const STEPS: Step[] = [
  { progress: 1, total: 3, message: 'step 1' },
  { progress: 2, total: 3, message: 'step 2' },
  { progress: 3, total: 3, message: 'step 3' },
];

test.each(WAYS)('T-7: progress reaches a waiting client ($door, $kind)', async (way) => {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } });
  await settle(hub);
  const heard: Step[] = [];
  const call = { server: 'one', tool: 'slow', args: { ms: 600, steps: 3, text: 'there' } };
  const reply = await hub.call('execute_tool', call, { onprogress: (step) => heard.push(step) });
  expect(reply.text).toBe('there');
  expect(heard).toEqual(STEPS);
});

test.each([
  { name: 'v1 over stdio', start: async () => v1Stdio() },
  { name: 'modern over http', start: async () => ({ url: owned(await startV2Http({ era: 'modern' })).url }) },
])('T-7: progress of a server ($name) reaches a waiting client', async ({ start }) => {
  const { url } = await httpGateway({ one: await start() });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const heard: Step[] = [];
  const call = { server: 'one', tool: 'slow', args: { ms: 600, steps: 3 } };
  await hub.call('execute_tool', call, { onprogress: (step) => heard.push(step) });
  expect(heard).toEqual(STEPS);
});

test('T-7: progress resets the timeout of a waiting client', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const call = { server: 'one', tool: 'slow', args: { ms: 2000, steps: 8, text: 'patience' } };
  const options = { timeout: 1000, resetTimeoutOnProgress: true, onprogress: () => {} };
  const reply = await hub.call('execute_tool', call, options);
  expect(reply.text).toBe('patience');
});

test.each(WAYS)(
  'T-7: after promotion progress appears in the status message of the task ($door, $kind)',
  async (way) => {
    const server = owned(await startV1Http());
    const hub = await hubThrough(way, { one: { url: server.url } });
    await settle(hub);
    const heard: Step[] = [];
    const call = { server: 'one', tool: 'slow', args: { ms: 60_000, steps: 300 }, timeout_ms: 1500 };
    const promoted = await hub.call('execute_tool', call, { onprogress: (step) => heard.push(step) });
    const task_id = taskIdOf(promoted);
    const first = promoted.body['proxy_task'] as { last_updated_at: string };
    const heardInTime = [...heard];
    expect(heardInTime[0]).toEqual({ progress: 1, total: 300, message: 'step 1' });

    await soon(async () => (await taskOf(hub, task_id))['status_message']).toMatch(/^step \d+$/);
    const moved = await taskOf(hub, task_id);
    expect(Date.parse(String(moved['last_updated_at']))).toBeGreaterThan(Date.parse(first.last_updated_at));
    await soon(async () => (await taskOf(hub, task_id))['status_message']).not.toBe(moved['status_message']);
    const { triggers, pending_server } = await awaitActivity(hub, { timeout_ms: 300 });
    expect(triggers).toEqual([{ type: 'timeout' }]);
    expect(pending_server).toMatchObject([{ working_tasks: [{ taskId: task_id, status: 'working' }] }]);
    expect(heard).toEqual(heardInTime);
  },
);

test('T-7: a client without a progress token gets no progress', async () => {
  const server = owned(await startV1Http());
  const { url, logs } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await settle(hub);
  const reply = await hub.call('execute_tool', { server: 'one', tool: 'slow', args: { ms: 300, steps: 3 } });
  expect(reply.text).toBe('done');
  expect(reply.events).toEqual([]);
  expect(logs.filter(({ level }) => level === 'error')).toEqual([]);
});

import { expect, test } from 'vitest';
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import type { SettingsInput } from '../../support/gateway.ts';
import type { HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { hubThrough, WAYS, type Way } from './doors.ts';
import { soon, tasksOf } from './watch.ts';

const SLOW = { server: 'one', tool: 'slow', args: { ms: 1500, text: 'worth it' }, timeout_ms: 60_000 };
const CODEX = 'MCP response future dropped';

/** Over HTTP a modern client closes its request and gives no reason. */
const WITH_REASON = WAYS.filter(({ door, kind }) => door === 'stdio' || kind !== 'modern');

/** A client that has cancelled a running call for a reason. */
async function cancelled(way: Way, reason: string, settings: SettingsInput = {}): Promise<[HubClient, V1Http]> {
  const server = owned(await startV1Http());
  const hub = await hubThrough(way, { one: { url: server.url } }, settings);
  const user = new AbortController();
  const call = expect(hub.call('execute_tool', SLOW, { signal: user.signal })).rejects.toThrow();
  await soon(() => server.state.calls.length).toBe(1);
  user.abort(reason);
  await call;
  return [hub, server];
}

async function expectKept([hub, server]: [HubClient, V1Http]): Promise<void> {
  await soon(() => tasksOf(hub)).toMatchObject([{ tool: 'slow' }]);
  const [task] = await tasksOf(hub);
  expect((await hub.call('get_task_result', { task_id: task?.['task_id'] })).text).toBe('worth it');
  expect(server.state.cancelled).toEqual([]);
}

async function expectStopped([hub, server]: [HubClient, V1Http]): Promise<void> {
  await soon(() => server.state.cancelled).toEqual(['slow:worth it']);
  expect(await tasksOf(hub)).toEqual([]);
}

test.each(WITH_REASON)('T-4: after Codex stops waiting, the task has the result ($door, $kind)', async (way) => {
  await expectKept(await cancelled(way, CODEX));
});

test.each(WITH_REASON)('T-4: `calls.onCancel: keep` keeps a call that the user cancels ($door, $kind)', async (way) => {
  await expectKept(await cancelled(way, 'the user pressed escape', { calls: { onCancel: 'keep' } }));
});

test.each(WAYS)('T-4: `calls.onCancel: cancel` stops a call whose client stops waiting ($door, $kind)', async (way) => {
  await expectStopped(await cancelled(way, CODEX, { calls: { onCancel: 'cancel' } }));
});

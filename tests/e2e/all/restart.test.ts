import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { requestsOf } from '../../servers/tasks/state.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { takeApart, taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { textOf } from '../direct/answered.ts';
import { LegacyWire } from '../direct/legacy-wire.ts';
import { ModernWire } from '../direct/modern-wire.ts';
import { soon } from '../flows/watch.ts';
import { killable, restart, rows } from '../restart/killable.ts';

const SETTINGS = {
  servers: { reconnect: { firstMs: 50, maxMs: 200 } },
  direct: { taskAfterMs: 50 },
  // Longer than a fast call takes, also the first one after a start.
  calls: { timeoutMs: 500 },
};

test('M-1, P-2: native tasks survive a kill and a restart, for every kind of client', async () => {
  const core = owned(await startTasksV1Http());
  const ext = owned(await startTasksV2Http());
  const plain = owned(await startV1Http());
  const gateway = await killable(
    { core: { url: core.url }, ext: { url: ext.url }, plain: { url: plain.url } },
    SETTINGS,
  );
  const all = `${gateway.url}/all`;
  const modern = new ModernWire(all);
  const tasks = await LegacyWire.open(all);
  const tools = await LegacyWire.open(all, { capabilities: {} });

  const shown = await modern.call('ext__hold', { text: 'for the modern client' });
  const asked = await tasks.begin('core__hold', { text: 'for the client with tasks' });
  const promoted = taskIdOf(takeApart(await tools.call('ext__hold', { text: 'for the client with tools' })));
  const lost = taskIdOf(takeApart(await tools.call('plain__slow', { ms: 600_000 })));
  await soon(() => rows(gateway.store, 'tasks').filter(({ checkpoint }) => checkpoint !== undefined)).toHaveLength(3);
  await restart(gateway);

  core.state.release();
  ext.state.release();
  expect(await modern.task(shown['taskId'], 'completed')).toMatchObject({
    result: { content: [{ text: 'for the modern client' }] },
  });
  const { taskId } = asked;
  expect(textOf(await tasks.request('tasks/result', { taskId }))).toBe('for the client with tasks');
  expect(textOf(await tools.call('get_task_result', { task_id: promoted }))).toBe('for the client with tools');
  const failed = takeApart(await tools.call('get_task_result', { task_id: lost }));
  expect([failed.isError, failed.text]).toEqual([true, expect.stringContaining('gateway restarted')]);
  // The names are still the same, and nothing was called twice.
  expect(textOf(await tools.call('plain__echo', { text: 'again' }))).toBe('again');
  expect(requestsOf(ext.state, 'tools/call')).toHaveLength(2);
  expect(requestsOf(core.state, 'tools/call')).toHaveLength(1);
});

import { expect, test } from 'vitest';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../../servers/v1-http.ts';
import { requestsOf } from '../../../servers/tasks/state.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { left, SAME } from './left.ts';
import { FEW, LEGACY_WAYS, MODERN_WAYS, SLOW_MS } from './leavers.ts';

const [LEGACY] = LEGACY_WAYS.slice(-1);
// Without a word on what it can do, the server would not make a task of the call.
const [, MODERN] = MODERN_WAYS;
const EACH = [LEGACY, MODERN].flatMap((way) => way ?? []);

test.each(FEW)('T-4: an identical call does not take over a task that was cancelled at the hub: $how', async (way) => {
  const { leaver, ran, hub, server } = await left(way);
  const [task] = await tasksOf(hub);
  await hub.call('cancel_task', { task_id: task?.['task_id'] });
  await soon(() => server.state.cancelled).toEqual(['slow:same']);
  expect(await leaver.call('slow', SAME)).toMatchObject({ content: [{ text: 'same' }] });
  expect(ran()).toEqual(['same', 'same']);
});

test.each(EACH)(
  'T-4, T-5: an identical call does not take over a failed task, but runs anew: $how',
  async ({ open }) => {
    const server = owned(await startTasksV2Http());
    const { url } = await httpGateway({ one: { url: server.url } });
    const hub = await hubOverHttp(url, 'modern');
    const leaver = await open(`${url}/one`);
    const runs = (): number => requestsOf(server.state, 'tools/call').length;
    await leaver.leave('hold', {}, () => soon(runs).toBe(1));
    await soon(() => tasksOf(hub)).toMatchObject([{ status: 'working' }]);
    // A server that dies and has forgotten what it was at.
    server.state.forget();
    await soon(() => tasksOf(hub)).toMatchObject([{ status: 'failed' }]);
    server.state.release();
    expect(await leaver.call('hold', {})).toMatchObject({ content: [{ text: 'released' }] });
    expect(runs()).toBe(2);
    // How the first run failed can still be read at the hub.
    expect(await tasksOf(hub)).toMatchObject([{ status: 'failed' }]);
  },
);

test.each(FEW)(
  'T-4, T-5: an identical call does not get a result with isError, but runs anew: $how',
  async ({ open }) => {
    const server = owned(await startV1Http());
    const { url } = await httpGateway({ one: { url: server.url } }, { direct: { taskAfterMs: SLOW_MS / 4 } });
    const hub = await hubOverHttp(url, 'modern');
    const leaver = await open(`${url}/one`);
    const runs = (): number => server.state.calls.length;
    await leaver.leave('fail', { ms: SLOW_MS }, () => soon(runs).toBe(1));
    await soon(() => tasksOf(hub)).toMatchObject([{ status: 'completed' }]);
    expect(await leaver.call('fail', { ms: SLOW_MS })).toMatchObject({ isError: true });
    expect(runs()).toBe(2);
  },
);

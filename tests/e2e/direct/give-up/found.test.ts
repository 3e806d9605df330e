import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { eventsUntil, has, soon, tasksOf } from '../../flows/watch.ts';
import { SLOW_MS, WAYS } from './leavers.ts';

test.each(WAYS)(
  'T-4, D-2: a call whose client stops waiting continues, and the hub shows it: $how',
  async ({ open }) => {
    const server = owned(await startV1Http());
    const { url } = await httpGateway({ one: { url: server.url } });
    // The one only listens, the other only looks: a reply takes along what has happened.
    const [listener, hub] = await Promise.all([hubOverHttp(url), hubOverHttp(url, 'modern')]);
    const leaver = await open(`${url}/one`);
    const args = { ms: SLOW_MS, text: 'worth it' };
    await leaver.leave('slow', args, () => soon(() => server.state.calls.length).toBe(1));

    await soon(() => tasksOf(hub)).toMatchObject([{ tool: 'slow', server: 'one', status: 'working' }]);
    const [task] = await tasksOf(hub);
    const task_id = task?.['task_id'];
    if (leaver.tasks) expect(await leaver.tasks()).toMatchObject([{ taskId: task_id, status: 'working' }]);
    const events = await eventsUntil(listener, has('task_completed'));
    const ofTask = events.filter(({ data }) => data['taskId'] === task_id).map(({ type }) => type);
    expect(ofTask).toEqual(['task_created', 'task_completed']);
    expect((await hub.call('get_task_result', { task_id })).text).toBe('worth it');
    if (leaver.tasks) expect(await leaver.tasks()).toMatchObject([{ taskId: task_id, status: 'completed' }]);
    expect(server.state.calls).toHaveLength(1);
    expect(server.state.cancelled).toEqual([]);
  },
);

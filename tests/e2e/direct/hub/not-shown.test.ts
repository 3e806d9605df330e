import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { flat, awaitActivity, soon } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { LegacyWire } from '../legacy-wire.ts';
import { accept } from '../modern-wire.ts';

const START = { 'pushes questions': startV1Http, 'keeps tasks': startTasksV2Http };

test.each(Object.entries(START))(
  'D-7, H-13: the hub does not show a question that the direct client has: a server that %s',
  async (_what, start) => {
    const { url: serverUrl } = owned(await start());
    const { url } = await httpGateway({ one: { url: serverUrl } });
    const hub = await hubOverHttp(url);
    await awaitActivity(hub);
    const wire = await LegacyWire.open(`${url}/one`);
    const stream = await wire.callStream('ask');
    const asked = await stream.heard('elicitation/create');
    expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
    const { elicitations } = await hub.call('list_servers');
    expect(elicitations).toEqual([]);
    const activity = await awaitActivity(hub, { timeout_ms: 100 });
    expect(flat(activity)).toEqual([]);
    expect(activity.pending_client).toEqual({ elicitations: [], sampling_requests: [] });
    await stream.answer(asked, accept({ name: 'Ada' }));
    expect(textOf(await stream.result())).toBe('Hello Ada');
    // Nor does the hub hear of its end.
    expect(flat(await awaitActivity(hub, { timeout_ms: 100 }))).toEqual([]);
  },
);

test('D-7, D-3: the hub shows the question of a task except while the client waits with tasks/result', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, 'modern');
  const open = async (): Promise<unknown> => (await hub.call('get_elicitations')).body['elicitations'];
  const wire = await LegacyWire.open(`${url}/one`);
  const { taskId } = await wire.begin('ask', { message: 'Who?' });
  await soon(open).toMatchObject([{ message: 'Who?' }]);
  const stream = await wire.stream('tasks/result', { taskId });
  await stream.heard('elicitation/create');
  expect(await open()).toEqual([]);
  stream.drop();
  await soon(open).toMatchObject([{ message: 'Who?' }]);
  const again = await wire.stream('tasks/result', { taskId });
  await again.answer(await again.heard('elicitation/create'), accept({ name: 'Ada' }));
  expect(textOf(await again.result())).toBe('Hello Ada');
});

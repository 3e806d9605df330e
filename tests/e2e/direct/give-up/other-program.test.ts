import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway, type SettingsInput } from '../../../support/gateway.ts';
import { hubOverHttp, type HubClient, type Json } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { ModernWire, ROUNDS } from '../modern-wire.ts';
import { modernDrops, type Leaver } from './leavers.ts';
import { SAME } from './left.ts';

const MARK = 'meanwhile/takenOver';

interface Programs {
  hub: HubClient;
  /** A client of one user, named like a program. */
  client: (program: string | null) => Leaver;
  runs: () => number;
}

async function programs(settings: SettingsInput = {}): Promise<Programs> {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } }, settings);
  const address = `${url}/one`;
  return {
    hub: await hubOverHttp(url, 'modern'),
    client: (program) => modernDrops(new ModernWire(address, { capabilities: ROUNDS, program }), address),
    runs: () => server.state.calls.length,
  };
}

async function leave({ hub, runs }: Programs, leaver: Leaver): Promise<void> {
  await leaver.leave('slow', SAME, () => soon(runs).toBe(1));
  await soon(async () => (await tasksOf(hub)).length).toBe(1);
}

const marked = ({ _meta }: Json): boolean => MARK in ((_meta as Json | undefined) ?? {});

test('S-1, T-4: a program does not take over a working call that another program of the same user left', async () => {
  const all = await programs();
  const [first, second] = [all.client('first'), all.client('second')];
  await leave(all, first);
  const [other, own] = await Promise.all([second.call('slow', SAME), first.call('slow', SAME)]);
  expect([textOf(other), textOf(own)]).toEqual(['same', 'same']);
  expect([marked(other), marked(own)]).toEqual([false, true]);
  expect(all.runs()).toBe(2);
});

test('S-1, T-4: a program does not get the result of a call that another program of the same user left', async () => {
  const all = await programs();
  await leave(all, all.client('first'));
  await soon(() => tasksOf(all.hub)).toMatchObject([{ status: 'completed' }]);
  expect(marked(await all.client('second').call('slow', SAME))).toBe(false);
  expect(all.runs()).toBe(2);
  expect(marked(await all.client('first').call('slow', SAME))).toBe(true);
  expect(all.runs()).toBe(2);
});

test('S-1, T-4: a client without a name does not take over an abandoned call', async () => {
  const all = await programs();
  await leave(all, all.client(null));
  await soon(() => tasksOf(all.hub)).toMatchObject([{ status: 'completed' }]);
  expect(marked(await all.client(null).call('slow', SAME))).toBe(false);
  expect(all.runs()).toBe(2);
});

test('T-4: a result older than direct.takeOverMs is not taken over, but can be read at the hub', async () => {
  const all = await programs({ direct: { takeOverMs: 100 } });
  const client = all.client('first');
  await leave(all, client);
  await soon(() => tasksOf(all.hub)).toMatchObject([{ status: 'completed' }]);
  const [task] = await tasksOf(all.hub);
  const endedAt = Date.parse(String(task?.['last_updated_at']));
  await soon(() => Date.now() - endedAt).toBeGreaterThan(100);
  expect(marked(await client.call('slow', SAME))).toBe(false);
  expect(all.runs()).toBe(2);
  const result = await all.hub.call('get_task_result', { task_id: task?.['task_id'] });
  expect(result.text).toBe('same');
});

test('T-4: a working call is taken over no matter how long ago its client left', async () => {
  const all = await programs({ direct: { takeOverMs: 0 } });
  const client = all.client('first');
  await leave(all, client);
  expect(marked(await client.call('slow', SAME))).toBe(true);
  expect(all.runs()).toBe(1);
});

import Database from 'libsql';
import { expect, test } from 'vitest';
import { startRichHttp } from '../../servers/rich-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import type { HubEvent } from '../../support/hub.ts';
import { defer, owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { LegacyWire, type LegacyStream } from '../direct/legacy-wire.ts';
import { levelsHeard } from '../direct/levels-heard.ts';
import { soon } from '../flows/watch.ts';
import { killable, restart } from './killable.ts';

const WATCHED = 'rich://text';
const NO_MORE = 'rich://blob';
const ERAS = ['legacy', 'modern'] as const;

/** Changes all; tells what was heard until the last change. A change before the gateway listens to its server is not heard. */
async function heardOf(wire: LegacyWire, told: LegacyStream): Promise<unknown[]> {
  await soon(async () => {
    await wire.call('change', { what: [NO_MORE, WATCHED, 'tools'] });
    return told.told('notifications/tools/list_changed').length;
  }).toBeGreaterThan(0);
  return told.told('notifications/resources/updated').map(({ uri }) => uri);
}

test.each(ERAS)(
  'P-2, D-5: a direct client keeps its resource subscriptions after a restart: %s server',
  async (era) => {
    const server = owned(await startRichHttp(era));
    const gateway = await killable({ rich: { url: server.url } });
    const wire = await LegacyWire.open(`${gateway.url}/rich`);
    for (const uri of [WATCHED, NO_MORE]) await wire.request('resources/subscribe', { uri });
    await wire.request('resources/unsubscribe', { uri: NO_MORE });
    await restart(gateway);

    const told = await wire.listen();
    await soon(() => heardOf(wire, told)).toContain(WATCHED);
    expect(told.told('notifications/resources/updated').map(({ uri }) => uri)).not.toContain(NO_MORE);
    await wire.request('resources/unsubscribe', { uri: WATCHED });
    await restart(gateway);
    const silent = await wire.listen();
    expect(await heardOf(wire, silent)).toEqual([]);
  },
);

test.each(ERAS)('P-2, D-5: a direct client keeps its log level after a restart: %s server', async (era) => {
  const server = owned(await startRichHttp(era));
  const gateway = await killable({ rich: { url: server.url } });
  const wire = await LegacyWire.open(`${gateway.url}/rich`);
  const levels = async (): Promise<unknown[]> => levelsHeard(wire);
  await wire.request('logging/setLevel', { level: 'warning' });
  expect(await levels()).toEqual(['warning', 'emergency']);
  await restart(gateway);
  await soon(levels).toEqual(['warning', 'emergency']);
  expect(await wire.error('logging/setLevel', { level: 'loud' })).toMatchObject({ code: -32_602 });
  await restart(gateway);
  await soon(levels).toEqual(['warning', 'emergency']);
});

test.each(ERAS)('P-2, B-3: a hub client gets resource updates from before it reconnects: %s server', async (era) => {
  const server = owned(await startRichHttp(era));
  const gateway = await killable({ rich: { url: server.url } });
  const client = await rawSession(gateway.url);
  await client.reply('subscribe_resource', { server: 'rich', uri: WATCHED });
  await restart(gateway);

  const other = await rawSession(gateway.url);
  const updates = async (): Promise<HubEvent[]> => {
    await other.reply('execute_tool', { server: 'rich', tool: 'change', args: { what: [WATCHED] } });
    const { events } = await client.reply('list_servers');
    return events.filter(({ type }) => type === 'notification');
  };
  await soon(updates).toContainEqual(
    expect.objectContaining({
      data: expect.objectContaining({
        method: 'notifications/resources/updated',
        params: expect.objectContaining({ uri: WATCHED }),
      }),
    }),
  );
});

test('S-3, B-3: removing a server forgets the subscriptions to it', async () => {
  const server = owned(await startRichHttp('legacy'));
  const gateway = await killable({});
  const client = await rawSession(gateway.url);
  const added = { name: 'rich', url: server.url };
  await client.reply('add_server', added);
  await client.reply('subscribe_resource', { server: 'rich', uri: WATCHED });
  await client.reply('remove_server', { name: 'rich' });
  await restart(gateway);
  await client.reply('add_server', added);
  const changed = await client.reply('execute_tool', { server: 'rich', tool: 'change', args: { what: [WATCHED] } });
  const { events } = await client.reply('list_servers');
  expect([...changed.events, ...events].filter(({ type }) => type === 'notification')).toEqual([]);
});

test('X-3: the subscriptions of a session at a server are limited', async () => {
  const server = owned(await startRichHttp('legacy'));
  const { url } = await httpGateway({ rich: { url: server.url } }, { limits: { subscriptionsPerServer: 1 } });
  const wire = await LegacyWire.open(`${url}/rich`);
  await wire.request('resources/subscribe', { uri: WATCHED });
  await wire.request('resources/subscribe', { uri: WATCHED });
  expect(await wire.error('resources/subscribe', { uri: NO_MORE })).toMatchObject({
    message: expect.stringContaining('limits.subscriptionsPerServer'),
  });
  await wire.request('resources/unsubscribe', { uri: WATCHED });
  await wire.request('resources/subscribe', { uri: NO_MORE });
});

const MANY = Array.from({ length: 40 }, (_, index) => `test://n/${index}`);

test('P-1, X-3: storing a subscription does not rewrite the others, and all survive a restart', async () => {
  const server = owned(await startV1Http());
  const gateway = await killable({ one: { url: server.url } });
  const wire = await LegacyWire.open(`${gateway.url}/one`);
  const db = new Database(gateway.store, { readonly: true });
  defer(async () => db.close());
  const session = db.prepare('SELECT length(data) AS bytes FROM sessions WHERE id = ?');
  const bytes = (): number => (session.get(wire.sessionId) as { bytes: number }).bytes;
  await wire.request('resources/subscribe', { uri: MANY[0] });
  const before = bytes();
  for (const uri of MANY) await wire.request('resources/subscribe', { uri });
  expect(bytes()).toBe(before);
  const [last = ''] = MANY.slice(-1);
  await wire.request('resources/unsubscribe', { uri: last });
  server.state.subscriptions.clear();
  await restart(gateway);
  await soon(() => [...server.state.subscriptions].toSorted()).toEqual(MANY.slice(0, -1).toSorted());
  expect(await wire.end()).toBe(200);
  expect(db.prepare('SELECT count(*) AS count FROM subscriptions').get()).toMatchObject({ count: 0 });
});

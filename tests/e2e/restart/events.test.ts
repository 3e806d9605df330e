import { expect, test, vi } from 'vitest';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import type { HubEvent } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { rawSession } from '../../support/raw-http.ts';
import { beginNative, killable, restart, rows } from './killable.ts';

/** The types of the events that are stored. */
const stored = (store: string): unknown[] => rows(store, 'events').map(({ type }) => type);

test('E-2, P-1, P-2: undelivered events arrive after the restart, once and in order', async () => {
  const server = owned(await startTasksV2Http());
  const loud = owned(await startV1Http());
  const gateway = await killable({ ext: { url: server.url }, loud: { url: loud.url } });
  const session = await rawSession(gateway.url);
  await session.reply('list_tools');
  const { id } = await beginNative(gateway, session, 'ext', 'hold');
  for (const each of loud.state.sessions) await each.server.sendToolListChanged();
  await vi.waitFor(() => expect(stored(gateway.store)).toEqual(['notification']), { timeout: 10_000 });
  server.state.release();
  await vi.waitFor(() => expect(stored(gateway.store)).toEqual(['notification', 'task_completed']), {
    timeout: 10_000,
  });
  await restart(gateway);
  const { events } = await session.reply('list_tasks');
  expect(events.slice(0, 2)).toMatchObject([
    { type: 'notification', data: { method: 'notifications/tools/list_changed' } },
    { type: 'task_completed', data: { taskId: id } },
  ]);
  // Never on the way to anybody before.
  expect(events.filter((event) => 'maybeSeen' in event)).toEqual([]);
  await vi.waitFor(() => expect(stored(gateway.store)).toEqual([]), { timeout: 10_000 });
  await restart(gateway);
  const again = await session.reply('list_tasks');
  expect(again.events.map(({ type }) => type)).not.toContain('task_completed');
});

test('E-1, H-7, P-2: event ids increase across a restart, and an earlier cursor returns the events after it', async () => {
  const server = owned(await startTasksV2Http());
  const gateway = await killable({ ext: { url: server.url } });
  const session = await rawSession(gateway.url);
  const { body: activity } = await session.reply('await_activity', { timeout_ms: 10_000 });
  const before = String(activity['lastEventId']);
  await beginNative(gateway, session, 'ext', 'hold');
  await vi.waitFor(() => expect(stored(gateway.store)).toEqual([]), { timeout: 10_000 });
  await restart(gateway);
  server.state.release();
  const told: HubEvent[] = [];
  await vi.waitFor(
    async () => {
      told.push(...(await session.reply('list_tasks')).events);
      expect(told.map(({ type }) => type)).toContain('task_completed');
    },
    { timeout: 10_000 },
  );
  const ids = told.map(({ id }) => id);
  expect([before, ...ids]).toEqual([before, ...ids].toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  const { body } = await session.reply('await_activity', { timeout_ms: 0, last_event_id: before });
  const groups = body['events'] as { events: HubEvent[] }[];
  expect(groups.flatMap(({ events }) => events.map(({ type }) => type))).toContain('task_completed');
});

import type * as z from 'zod';
import type { Gateway } from '../../../core/gateway.ts';
import { ALL_SERVERS } from '../../../core/groups.ts';
import { messageOf } from '../../../lib/log.ts';
import { VERSION } from '../../../lib/version.ts';
import { liveSessions } from '../live/live-views.ts';
import { dormantSessions } from '../live/sessions.ts';
import { accessOf, type Person } from '../person.ts';
import { cursorAt, readCursor } from './cursor.ts';
import { defineRoute } from './route.ts';
import { meSchema, page, sessionSchema, sessionsQuery, type SessionItem } from './schemas.ts';

/** Sessions in memory fit on the first page; dormant ones follow page by page. */
async function sessionsPage(
  gateway: Gateway,
  person: Person,
  { state, cursor, limit }: z.output<typeof sessionsQuery>,
): Promise<{ items: SessionItem[]; next?: string }> {
  const live = state === 'dormant' || cursor !== undefined ? [] : await liveSessions(gateway, person);
  if (state === 'live') return { items: live };
  const reading = dormantSessions(gateway, person, { ...readCursor(cursor), limit: limit + 1 });
  const found = await reading.catch((error: unknown) => {
    if (live.length === 0) throw error;
    // Sessions in memory can be shown even while the store is down.
    gateway.log.warn('dormant_sessions_not_read', { error: messageOf(error) });
    return [];
  });
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  const mayKnow = accessOf(gateway, person);
  const shown = page.filter(({ server }) => mayKnow({ server }));
  // A session may have just been restored or handed over.
  const ids = new Set(live.map(({ id }) => id));
  return {
    items: [...live, ...shown.filter(({ id }) => !ids.has(id))],
    ...(last && { next: cursorAt({ at: last.lastActiveAt, id: last.id }) }),
  };
}

export const otherRoutes = [
  defineRoute({
    method: 'GET',
    path: '/me',
    summary: 'Returns the signed-in person and the gateway',
    replies: { 200: { description: 'The person and the gateway', schema: meSchema } },
    run: async ({ gateway, person: { principal, operator, readOnly }, history, startedAt, hubUrl, demo }) => {
      const id = gateway.store.cluster?.gatewayId;
      return {
        body: {
          principal,
          operator,
          ...(readOnly && { readOnly }),
          gateway: { ...(id !== undefined && { id }), version: VERSION, startedAt },
          history,
          ...(gateway.settings.audit && { audit: gateway.settings.audit }),
          endpoints: { hub: hubUrl, all: `${hubUrl}/${ALL_SERVERS}` },
          demo: demo !== undefined && gateway.recorder !== undefined && gateway.registry.mayAdd(principal),
        },
      };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/sessions',
    summary:
      'Lists sessions with their clients, tasks and questions: first the sessions in memory, then those only stored',
    query: sessionsQuery,
    replies: { 200: { description: 'A page of sessions', schema: page(sessionSchema) } },
    run: async ({ gateway, person, query }) => ({ body: await sessionsPage(gateway, person, query) }),
  }),
];

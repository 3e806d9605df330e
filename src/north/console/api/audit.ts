import * as z from 'zod';
import type { AuditQuery } from '../../../core/ports.ts';
import { ApiError } from '../api-error.ts';
import type { Person } from '../person.ts';
import { route } from './route.ts';
import { auditLineSchema, auditQuery, errorSchema, page } from './schemas.ts';

const auditPage = page(auditLineSchema).extend({
  seq: z.int().describe('What comes later has a larger `seq`: give this as `after` to go on'),
});

type Filters = z.output<typeof auditQuery>;

type Place = Pick<AuditQuery, 'order' | 'after'>;

export const auditRoutes = [
  route({
    method: 'GET',
    path: '/audit',
    summary: 'The audit record, the newest lines first; with `after` the oldest first',
    query: auditQuery,
    replies: {
      200: { description: 'A page of lines', schema: auditPage },
      409: { description: 'The audit record is turned off', schema: errorSchema },
    },
    run: async ({ gateway: { audit }, person, query }) => {
      if (audit === undefined) {
        throw new ApiError(409, 'audit_off', 'there is no audit record; set "audit": true in the config file');
      }
      const { limit } = query;
      const place = placeOf(query);
      // What happened just now is written first.
      await audit.flush();
      // Read first: what comes after it is read next time.
      const [newest] = await audit.store.read({ order: 'newest', limit: 1 });
      const found = await audit.store.read({ ...filterOf(query, person), ...place, limit: limit + 1 });
      const items = found.slice(0, limit);
      const last = found.length > limit ? items.at(-1) : undefined;
      // Lines may have come between the two: those that are shown here must not be shown again.
      const shown = (place.order === 'oldest' ? items.at(-1) : items[0])?.seq ?? 0;
      const isPart = place.order === 'oldest' && last !== undefined;
      const seq = isPart ? shown : Math.max(newest?.seq ?? 0, shown);
      return { body: { items, ...(last && { next: cursorOf(place.order, last.seq) }), seq } };
    },
  }),
];

function filterOf(query: Filters, person: Person): Omit<AuditQuery, 'order' | 'limit'> {
  const { kind, principal, server, tool, session, text, from, to } = query;
  return {
    ...(!person.operator && { owner: person.principal }),
    ...(kind !== undefined && { kinds: [kind] }),
    ...(principal !== undefined && { principal }),
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    ...(session !== undefined && { sessionId: session }),
    ...(text !== undefined && { text }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

function placeOf({ after, cursor }: Filters): Place {
  if (cursor === undefined) return after === undefined ? { order: 'newest' } : { order: 'oldest', after };
  const [, order, seq] = /^(newest|oldest) (\d{1,16})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (order === 'newest' || order === 'oldest') return { order, after: Number(seq) };
  throw new ApiError(400, 'invalid_parameter', "'cursor' is not one that this API gave; begin without a cursor");
}

function cursorOf(order: Place['order'], seq: number): string {
  return Buffer.from(`${order} ${seq}`).toString('base64url');
}

import * as z from 'zod';
import type { StoredLine } from '../../../core/audit/line.ts';
import type { AuditQuery } from '../../../core/ports/audit-log.ts';
import { timeoutSignal } from '../../../lib/timers.ts';
import { ApiError } from '../api-error.ts';
import { accessOf, type Person } from '../person.ts';
import { commonFilters } from './filters.ts';
import { defineRoute } from './route.ts';
import { auditLineSchema, auditQuery, errorSchema, page } from './schemas.ts';

const auditPage = page(auditLineSchema).extend({
  seq: z.int().describe('Pass this as `after` to get the lines written later'),
});

/** How long one request searches. Its page may be short or even empty; the next request continues from there. */
const SEARCH_MS = 10_000;

type Filters = z.output<typeof auditQuery>;

type Place = Pick<AuditQuery, 'order' | 'after'>;

export const auditRoutes = [
  defineRoute({
    method: 'GET',
    path: '/audit',
    summary: 'Lists the lines of the audit record, newest first; with `after`, oldest first',
    query: auditQuery,
    replies: {
      200: { description: 'A page of lines', schema: auditPage },
      409: { description: 'The audit record is off', schema: errorSchema },
    },
    run: async ({ gateway, person, query, res }) => {
      const { audit, clock } = gateway;
      if (audit === undefined) {
        throw new ApiError(409, 'audit_off', 'there is no audit record; set "audit": true in the config file');
      }
      const { limit } = query;
      const place = placeOf(query);
      // Write pending lines first.
      await audit.flush();
      // Read first: later lines are read next time.
      const [newest] = await audit.store.read({ order: 'newest', limit: 1 });
      const time = timeoutSignal(SEARCH_MS, clock);
      let stoppedAt: number | undefined;
      const goOn = (lookedAt: number): boolean => {
        if (!res.destroyed && !time.signal.aborted) return true;
        stoppedAt = lookedAt;
        return false;
      };
      const search = { ...filterOf(query, person), ...place, limit: limit + 1, goOn };
      const found = await audit.store.read(search).finally(time.cancel);
      // The client has left.
      if (res.destroyed) return undefined;
      const items = found.slice(0, limit);
      const nextAfter = found.length > limit ? items.at(-1)?.seq : stoppedAt;
      // Lines may have been added between the two reads: those on this page must not be repeated.
      const shown = (place.order === 'oldest' ? items.at(-1) : items[0])?.seq ?? 0;
      const isPart = place.order === 'oldest' && nextAfter !== undefined;
      const seq = isPart ? nextAfter : Math.max(newest?.seq ?? 0, shown);
      const next = nextAfter === undefined ? {} : { next: cursorOf(place.order, nextAfter) };
      const mayKnow = accessOf(gateway, person);
      return { body: { items: items.filter((line) => mayKnow(aboutLine(line))), ...next, seq } };
    },
  }),
];

function aboutLine(line: StoredLine): { server?: string | undefined; tool?: string | undefined } {
  return { server: 'server' in line ? line.server : undefined, tool: 'tool' in line ? line.tool : undefined };
}

function filterOf(query: Filters, person: Person): Omit<AuditQuery, 'order' | 'limit'> {
  const { kind, principal } = query;
  return {
    ...(!person.operator && { owner: person.principal }),
    ...(kind !== undefined && { kinds: [kind] }),
    ...(principal !== undefined && { principal }),
    ...commonFilters(query),
  };
}

function placeOf({ after, cursor }: Filters): Place {
  if (cursor === undefined) return after === undefined ? { order: 'newest' } : { order: 'oldest', after };
  const [, order, seq] = /^(newest|oldest) (\d{1,16})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (order === 'newest' || order === 'oldest') return { order, after: Number(seq) };
  throw new ApiError(400, 'invalid_parameter', "'cursor' is not a cursor of this API; start without a cursor");
}

function cursorOf(order: Place['order'], seq: number): string {
  return Buffer.from(`${order} ${seq}`).toString('base64url');
}

import type { EntryStatus } from '../../../core/history/entry.ts';
import type { CallEntry } from '../../../core/history/entry.ts';
import type { HistoryFilter } from '../../../core/ports/history.ts';
import type { Gateway } from '../../../core/gateway.ts';
import * as z from 'zod';
import { sleep } from '../../../lib/timers.ts';
import { ApiError, notFound } from '../api-error.ts';
import { accessOf, maySee, type Person } from '../person.ts';
import { doAnywhere } from '../work/anywhere.ts';
import { alreadyEnded } from '../work/cancel.ts';
import { cursorAfter, readCursor } from './cursor.ts';
import { commonFilters } from './filters.ts';
import { callDetails, callItem, listedCall } from './items.ts';
import { isQuestion } from './questions.ts';
import { defineRoute } from './route.ts';
import {
  alreadyEndedSchema,
  callDetailsSchema,
  callSchema,
  callsQuery,
  emptyBody,
  page,
  resultSchema,
  summarySchema,
  type Call,
} from './schemas.ts';

/** How many questions of one call are shown. */
const MAX_QUESTIONS = 200;
/** How long to wait until the history has the end of a call. */
const ENDED_MS = 2000;
const LOOK_MS = 50;

type Filters = z.output<typeof callsQuery>;

export const callRoutes = [
  defineRoute({
    method: 'GET',
    path: '/calls',
    summary: 'Lists running and recently ended tool calls, newest first',
    query: callsQuery,
    replies: { 200: { description: 'A page of calls', schema: page(z.union([callSchema, summarySchema])) } },
    run: async ({ gateway, person, query }) => {
      // Without a recorder, entries of other gateways are not kept up to date.
      if (gateway.recorder === undefined) return { body: { items: [] } };
      const { limit, principal = person.principal } = query;
      if (!maySee(person, { principal })) return { body: { items: [] } };
      const found = await gateway.store.history.read({
        ...filterOf(query, person),
        order: 'newest',
        ...readCursor(query.cursor),
        limit: limit + 1,
      });
      const shown = found.slice(0, limit);
      const last = found.length > limit ? shown.at(-1) : undefined;
      const mayKnow = accessOf(gateway, person);
      const items = shown.flatMap((entry) => (entry.kind === 'question' || !mayKnow(entry) ? [] : [listedCall(entry)]));
      return { body: { items, ...(last && { next: cursorAfter(last) }) } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/calls/{id}',
    summary: 'Returns one call with its arguments, result and questions',
    replies: { 200: { description: 'The call', schema: callDetailsSchema } },
    run: async ({ gateway, person, named }) => {
      const call = await requireCall(gateway, person, named);
      const questions = await gateway.store.history.read({
        kinds: ['question'],
        callId: call.id,
        order: 'oldest',
        limit: MAX_QUESTIONS,
        content: true,
      });
      return { body: callDetails(call, questions.filter(isQuestion)) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/calls/{id}/result',
    summary: 'Returns the result of a call, even one too large for the history, while its task is stored',
    replies: { 200: { description: 'The result as the server gave it', schema: resultSchema } },
    run: async ({ gateway, person, named }) => {
      const { result, taskId, sessionId, principal: owner } = await requireCall(gateway, person, named);
      if (result !== undefined) return { body: result };
      const found = taskId && (await doAnywhere(gateway, person, { do: 'result', sessionId, owner, taskId }));
      if (found) return { body: found };
      throw notFound('no stored result: it was too large for the history (history.entryBytes), or the call has none');
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/calls/{id}/cancel',
    summary: 'Cancels a call and its work on the server',
    body: emptyBody,
    replies: {
      200: { description: 'The cancelled call', schema: callSchema },
      409: { description: 'The call has already ended', schema: alreadyEndedSchema },
    },
    run: async ({ gateway, person, named }) => {
      const call = await requireCall(gateway, person, named);
      const { id: callId, sessionId, principal: owner, taskId } = call;
      try {
        if (!isActive(call)) throw alreadyEnded();
        await doAnywhere(gateway, person, { do: 'cancel', sessionId, owner, callId, taskId });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error;
        throw new ApiError(409, error.code, error.message, { beside: { call: await ended(gateway, call) } });
      }
      return { body: await ended(gateway, call) };
    },
  }),
];

function filterOf(query: Filters, person: Person): HistoryFilter {
  const { status, task, session, outcome } = query;
  const principal = person.operator ? query.principal : person.principal;
  const statuses = statusesOf(status, outcome);
  // Summarized calls have no individual task, session or outcome.
  const countsToo = task !== true && session === undefined && statuses === undefined && status !== 'ended';
  return {
    kinds: countsToo ? ['call', 'summary'] : ['call'],
    ...(principal !== undefined && { principal }),
    // There is an index for unfinished entries.
    ...(status !== 'all' && { active: status !== 'ended' }),
    ...(statuses !== undefined && { statuses }),
    ...(task !== undefined && { task }),
    ...commonFilters(query),
  };
}

function statusesOf(status: Filters['status'], outcome: Filters['outcome']): EntryStatus[] | undefined {
  if (outcome === undefined) return status === 'running' || status === 'waiting' ? [status] : undefined;
  if (status === 'all' || status === 'ended') return [outcome];
  throw new ApiError(400, 'invalid_parameter', "'outcome' is for calls that have ended; omit 'status'");
}

function isActive({ status }: Pick<CallEntry, 'status'>): boolean {
  return status === 'running' || status === 'waiting';
}

export async function requireCall(gateway: Gateway, person: Person, id: string): Promise<CallEntry> {
  // It may have just started.
  await gateway.recorder?.flush();
  const [entry] = gateway.recorder === undefined ? [] : await gateway.store.history.find([id]);
  if (entry?.kind === 'call' && maySee(person, entry) && accessOf(gateway, person)(entry)) return entry;
  throw notFound(`no call '${id}': unknown, or older than the history`);
}

/** The ended call, once the history has it. */
async function ended(gateway: Gateway, call: CallEntry): Promise<Call> {
  const { clock, store } = gateway;
  const deadline = clock.now() + ENDED_MS;
  for (;;) {
    await gateway.recorder?.flush();
    const [found] = await store.history.find([call.id]);
    const entry = found?.kind === 'call' ? found : call;
    if (!isActive(entry) || clock.now() >= deadline) return callItem(entry);
    await sleep(LOOK_MS, clock);
  }
}

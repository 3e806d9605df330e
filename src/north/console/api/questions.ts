import type { HistoryFilter } from '../../../core/ports/history.ts';
import type { QuestionEntry } from '../../../core/history/entry.ts';
import type { Gateway } from '../../../core/gateway.ts';
import { sleep } from '../../../lib/timers.ts';
import { ApiError, notFound } from '../api-error.ts';
import { accessOf, maySee, type Person } from '../person.ts';
import { doAnywhere } from '../work/anywhere.ts';
import { tooLate } from '../work/answer.ts';
import { cursorAfter, readCursor } from './cursor.ts';
import { LISTED_BYTES, listedQuestion, questionItem } from './items.ts';
import { defineRoute } from './route.ts';
import {
  alreadyAnsweredSchema,
  answerBody,
  errorSchema,
  page,
  questionSchema,
  questionsQuery,
  type Question,
} from './schemas.ts';

/** How long to wait until the history has the end of a question. */
const ENDED_MS = 2000;
const LOOK_MS = 50;

export const questionRoutes = [
  defineRoute({
    method: 'GET',
    path: '/questions',
    summary: 'Lists open and ended questions from servers',
    query: questionsQuery,
    replies: { 200: { description: 'A page of questions', schema: page(questionSchema) } },
    run: async ({ gateway, person, query }) => {
      if (gateway.recorder === undefined) return { body: { items: [], total: 0 } };
      const { status, server, session, text, cursor, limit } = query;
      const filter: HistoryFilter = {
        kinds: ['question'],
        ...(person.operator ? {} : { principal: person.principal }),
        ...(status !== 'all' && { active: status === 'open' }),
        ...(server !== undefined && { server }),
        ...(session !== undefined && { sessionId: session }),
        ...(text !== undefined && { text }),
      };
      const order = status === 'open' ? 'oldest' : 'newest';
      const { history } = gateway.store;
      const [found, total] = await Promise.all([
        history.read({
          ...filter,
          order,
          ...readCursor(cursor),
          limit: limit + 1,
          content: true,
          contentBytes: LISTED_BYTES,
        }),
        history.count(filter),
      ]);
      const shown = found.slice(0, limit).filter(isQuestion);
      const last = found.length > limit ? shown.at(-1) : undefined;
      const items = await withArguments(gateway, shown.filter(accessOf(gateway, person)));
      return { body: { items, ...(last && { next: cursorAfter(last) }), total } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/questions/{id}',
    summary: 'Returns one question with everything needed to answer it',
    replies: { 200: { description: 'The question', schema: questionSchema } },
    run: async ({ gateway, person, named }) => ({
      body: await detailed(gateway, await requireQuestion(gateway, person, named)),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/questions/{id}/answer',
    summary: 'Answers a question; the first valid answer counts',
    body: answerBody,
    replies: {
      200: { description: 'The question, now ended', schema: questionSchema },
      409: {
        description: 'The question is no longer open; `question` shows who answered it',
        schema: alreadyAnsweredSchema,
      },
      422: { description: 'The answer is invalid; the question stays open', schema: errorSchema },
    },
    run: async ({ gateway, person, named, body, via }) => {
      const asked = await requireQuestion(gateway, person, named);
      const { id: questionId, sessionId, principal: owner } = asked;
      try {
        if (asked.status !== 'open') throw tooLate();
        await doAnywhere(gateway, person, { do: 'answer', sessionId, owner, questionId, answer: body, via });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error;
        const question = await ended(gateway, asked);
        throw new ApiError(409, error.code, whoWasFirst(question), { beside: { question } });
      }
      return { body: await ended(gateway, asked) };
    },
  }),
];

export function isQuestion(entry: { kind: string }): entry is QuestionEntry {
  return entry.kind === 'question';
}

async function requireQuestion(gateway: Gateway, person: Person, id: string): Promise<QuestionEntry> {
  // It may have just been asked.
  await gateway.recorder?.flush();
  const [entry] = gateway.recorder === undefined ? [] : await gateway.store.history.find([id]);
  if (entry?.kind === 'question' && maySee(person, entry) && accessOf(gateway, person)(entry)) return entry;
  throw notFound(`no question '${id}': unknown, or older than the history`);
}

async function detailed(gateway: Gateway, entry: QuestionEntry): Promise<Question> {
  const [call] = entry.callId === undefined ? [] : await gateway.store.history.find([entry.callId]);
  const args = call?.kind === 'call' ? call.arguments : undefined;
  return { ...questionItem(entry), ...(args !== undefined && { arguments: args }) };
}

/** Adds the arguments of the asking calls to open questions. */
async function withArguments(gateway: Gateway, entries: readonly QuestionEntry[]): Promise<Question[]> {
  const ids = entries.flatMap(({ status, callId }) => (status === 'open' && callId !== undefined ? [callId] : []));
  const calls = ids.length === 0 ? [] : await gateway.store.history.find([...new Set(ids)]);
  const byId = new Map(calls.flatMap((call) => (call.kind === 'call' ? [[call.id, call.arguments] as const] : [])));
  return entries.map((entry) => {
    const args = entry.status === 'open' && entry.callId !== undefined ? byId.get(entry.callId) : undefined;
    return { ...listedQuestion(entry), ...(args !== undefined && { arguments: args }) };
  });
}

/** The ended question, once the history has it. */
async function ended(gateway: Gateway, asked: QuestionEntry): Promise<Question> {
  const { clock, store } = gateway;
  const deadline = clock.now() + ENDED_MS;
  for (;;) {
    await gateway.recorder?.flush();
    const [found] = await store.history.find([asked.id]);
    const entry = found?.kind === 'question' ? found : asked;
    if (entry.status !== 'open' || clock.now() >= deadline) return detailed(gateway, entry);
    await sleep(LOOK_MS, clock);
  }
}

function whoWasFirst({ status, answeredBy, reason }: Question): string {
  const { principal, via = '', name } = answeredBy ?? {};
  // A link has the name of its target, but a person answered.
  const isPerson = name === undefined || via === 'link';
  const by = principal === undefined ? '' : ` by ${isPerson ? `${principal} (${via})` : `the ${via} ${name}`}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  return `the question was already ${status === 'open' ? 'answered' : status}${by}${why}; nothing was sent to the server`;
}

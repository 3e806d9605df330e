import { describe, expect, test } from 'vitest';
import { hubSession, SILENT, startCore, type Core } from '../../../tests/support/core.ts';
import { textResult } from '../../../tests/support/scripted-connection.ts';
import { turn } from '../../../tests/support/turn.ts';
import { createLog } from '../../lib/log.ts';
import { directView, groupView } from '../session/kind.ts';
import type { Session } from '../session/session.ts';
import { standingAnswers, type RoutineQuestion, type StandingRule } from './standing-answers.ts';

const YES: StandingRule = { action: 'accept', content: { ok: true } };
const form = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: 'object',
  properties,
  ...more,
});
const OK_FORM = form({ ok: { type: 'boolean' } }, { required: ['ok'] });

function question(more: Partial<RoutineQuestion> & { requestedSchema?: unknown; mode?: string } = {}): RoutineQuestion {
  const { requestedSchema = OK_FORM, mode, ...rest } = more;
  const message = 'Overwrite a.txt?';
  const params = { message, requestedSchema, ...(mode !== undefined && { mode }) };
  return { id: 'q', server: 'files', tool: 'write', message, params, ...rest };
}

interface Line {
  level: string;
  event: string;
  data: Record<string, unknown>;
}

function ask(rules: StandingRule | StandingRule[], asked: RoutineQuestion, dryRun = false) {
  const lines: Line[] = [];
  const log = createLog('debug', (line) => lines.push(JSON.parse(line) as Line));
  const answer = standingAnswers([rules].flat(), { dryRun, log })?.(asked);
  return { answer: answer?.answer, rule: answer?.rule, lines };
}

describe('which rules match', () => {
  test.each([
    ['a rule without conditions matches', {}, {}, true],
    ['a pattern of the server name matches, ignoring case', { server: 'FILE?' }, {}, true],
    ['the name of another server does not match', { server: 'mail' }, {}, false],
    ['a pattern of the tool name matches', { tool: 'wr*' }, {}, true],
    ['a pattern of another tool name does not match', { tool: 'delete*' }, {}, false],
    ['a tool pattern does not match a question without a certain call', { tool: '*' }, { tool: undefined }, false],
    ['a pattern of the message matches', { message: 'Overwrite *' }, {}, true],
    ['a part of the message does not match', { message: 'Overwrite' }, {}, false],
    ['a regular expression does not match', { message: 'Overwrite .*' }, {}, false],
    ['a message pattern does not match a question without a message', { message: '*' }, { message: undefined }, false],
    ['a schema with the field and its type matches', { schema: { ok: 'boolean' } }, {}, true],
    ['a schema with any type matches', { schema: { ok: 'any' } }, {}, true],
    ['a schema with another type does not match', { schema: { ok: 'string' } }, {}, false],
    ['a schema with more fields does not match', { schema: { ok: 'boolean', why: 'string' } }, {}, false],
    ['a schema with fewer fields does not match', { schema: {} }, {}, false],
    [
      'a schema with another field name does not match',
      { schema: { valueOf: 'any' } as StandingRule['schema'] },
      {},
      false,
    ],
    [
      'a rule matches if all conditions match',
      { server: 'files', tool: 'write', message: '*a.txt?', schema: { ok: 'boolean' } },
      {},
      true,
    ],
    [
      'a rule does not match if one condition does not match',
      { server: 'files', tool: 'write', message: '*b.txt?', schema: { ok: 'boolean' } },
      {},
      false,
    ],
  ] satisfies [string, Partial<StandingRule>, Partial<RoutineQuestion>, boolean][])(
    'G-3: %s',
    (_what, conditions, asked, matches) => {
      const { answer } = ask({ ...YES, ...conditions }, question(asked));
      expect(answer).toEqual(matches ? { action: 'accept', content: { ok: true } } : undefined);
    },
  );

  test('G-3: the first matching rule decides, and the log names it by name or index', () => {
    const rules: StandingRule[] = [{ ...YES, server: 'mail' }, { name: 'no', server: 'files', action: 'decline' }, YES];
    const { answer, rule, lines } = ask(rules, question());
    expect([answer, rule]).toEqual([{ action: 'decline' }, 'no']);
    const data = { requestId: 'q', server: 'files', tool: 'write', rule: 'no', action: 'decline' };
    expect(lines).toMatchObject([{ level: 'info', event: 'standing_answer', data }]);
    expect(ask(rules, question({ server: 'other' })).rule).toBe('answers[2]');
  });

  test('G-3: without rules there is no responder', () => {
    expect(standingAnswers([], { dryRun: false, log: createLog('silent') })).toBeUndefined();
  });
});

describe('questions that no rule answers', () => {
  test('G-3: a URL elicitation', () => {
    const { answer, lines } = ask([YES, { action: 'decline' }], question({ mode: 'url' }));
    expect([answer, lines]).toEqual([undefined, []]);
  });

  test.each([
    [{ password: { type: 'string' } }],
    [{ apiKey: { type: 'string' } }],
    [{ value: { type: 'string', title: 'Access token' } }],
    [{ value: { type: 'string', description: 'The PIN of your card' } }],
    [{ value: { type: 'string', format: 'password' } }],
    [{ cardNumber: { type: 'integer' } }],
    [{ ok: { type: 'boolean' }, 'one-time-code': { type: 'string' } }],
  ])('G-3: a form that asks for a secret: %j', (properties) => {
    const rules: StandingRule[] = [{ name: 'any', server: '*', action: 'decline' }];
    const { answer, lines } = ask(rules, question({ requestedSchema: form(properties) }));
    expect(answer).toBeUndefined();
    expect(lines).toMatchObject([{ level: 'warn', event: 'standing_answer_not_used', data: { rule: 'any' } }]);
    expect(String(lines[0]?.data['reason'])).toContain('looks like a secret');
  });

  test.each([
    [{ keepPassword: { type: 'boolean' } }],
    [{ spinner: { type: 'string' }, opinion: { type: 'string' }, tokenizer: { type: 'string' } }],
  ])('G-3: a form without secrets is answered: %j', (properties) => {
    const requestedSchema = form(properties);
    expect(ask({ server: '*', action: 'decline' }, question({ requestedSchema })).answer).toEqual({
      action: 'decline',
    });
  });

  test('G-3: a form that the content of the rule does not match, with a log line; later rules are not tried', () => {
    const requestedSchema = form({ ok: { type: 'string', enum: ['yes', 'no'] } });
    const { answer, lines } = ask([YES, { action: 'decline' }], question({ requestedSchema }));
    expect(answer).toBeUndefined();
    expect(lines).toMatchObject([
      {
        event: 'standing_answer_not_used',
        data: { reason: `its content does not match the question: 'ok': expected one of "yes", "no"` },
      },
    ]);
  });

  test('G-3: any question in a dry run, which logs the answer', () => {
    const { answer, lines } = ask(YES, question(), true);
    expect(answer).toBeUndefined();
    const wouldAnswer = { action: 'accept', content: { ok: true } };
    expect(lines).toMatchObject([{ level: 'warn', event: 'standing_answer_dry_run', data: { wouldAnswer } }]);
  });
});

// --- In a session ------------------------------------------------------------------------------------------------

const PARAMS = { message: 'Overwrite a.txt?', requestedSchema: OK_FORM };
const RULES = { answers: [{ name: 'overwrite', tool: 'work', ...YES }] };

async function hub(settings: Record<string, unknown> = RULES): Promise<Core & { session: Session }> {
  const core = await startCore({ settings });
  return { ...core, session: await hubSession(core.gateway) };
}

/** A tool that asks, and returns the answer. */
function asksFirst({ backends }: Core, params: Record<string, unknown> = PARAMS): void {
  backends.tools['work'] = (call) => {
    void call.ask(params).then((answer) => call.answer(JSON.stringify(answer)));
  };
}

const callWork = async (session: Session, tool = 'work') =>
  session.calls.execute(session.connection('one'), { server: 'one', tool, args: {}, timeoutMs: 1000 }, SILENT);

test('G-3: a call whose question a rule answers returns its result, and the history names the rule', async () => {
  const core = await hub();
  const { session, database, gateway } = core;
  asksFirst(core);
  const offered: string[] = [];
  session.interactions.register('any', ({ id }) => offered.push(id) > 0);
  const reply = await callWork(session);
  expect(reply).toMatchObject({ kind: 'result', result: textResult('{"action":"accept","content":{"ok":true}}') });
  expect(offered).toEqual([]);
  expect(session.events.take().events.map(({ type }) => type)).toEqual(['server_connected']);
  expect(session.tasks.atWork()).toEqual([]);
  await gateway.recorder?.flush();
  const [entry] = await gateway.store.history.read({ kinds: ['question'], order: 'newest', limit: 9 });
  expect(entry).toMatchObject({
    status: 'accepted',
    tool: 'work',
    answeredBy: { principal: 'local', via: 'rule', name: 'overwrite' },
  });
  expect([...database.rowsOf(session.id).question.keys()]).toEqual([]);
});

test('G-3: a task does not wait for a question that a rule answers', async () => {
  const core = await hub();
  const { session, backends } = core;
  const states: unknown[] = [];
  session.tasks.watch(({ status }) => states.push(status));
  const request = { server: 'one', tool: 'work', args: {}, timeoutMs: 1, asTask: true };
  await session.calls.execute(session.connection('one'), request, SILENT);
  await turn();
  await backends.last.last.ask(PARAMS);
  expect(states).not.toContain('input_required');
});

test.each([
  ['in a dry run', { ...RULES, answersDryRun: true }],
  ['that no rule is for', { answers: [{ tool: 'other', ...YES }] }],
])('G-3: a question %s goes to people', async (_what, settings) => {
  const core = await hub(settings);
  const { session } = core;
  asksFirst(core);
  expect(await callWork(session)).toMatchObject({ kind: 'task', because: 'question' });
  const [open] = session.interactions.list('elicitation');
  await session.interactions.answer(open?.id ?? '', 'elicitation', { action: 'cancel' });
});

test('G-3: a rule for a tool does not answer a question that another call may have asked', async () => {
  const core = await hub();
  const { session, backends } = core;
  void callWork(session);
  void callWork(session, 'other');
  await turn();
  const [one, two] = backends.last.calls;
  const calls = [one?.outgoing.id ?? '', two?.outgoing.id ?? ''];
  void backends.last.ask(PARAMS, { candidates: { calls, others: false } }).catch(() => {});
  await turn();
  expect(session.interactions.list('elicitation')).toHaveLength(1);
});

test('G-3: a question that may belong to another client is not answered until the client uses the server', async () => {
  const core = await hub({ answers: [{ server: 'one', ...YES }] });
  const { session, backends } = core;
  await session.connection('one').ready();
  void backends.last.ask(PARAMS).catch(() => {});
  await turn();
  expect(core.logged).not.toContain('standing_answer');
  // As soon as the client uses the server, it may be its own.
  session.interactions.serverUsed('one');
  expect(session.interactions.list('elicitation')).toHaveLength(1);
});

test('G-3: in a group, rules match the message as the server wrote it', async () => {
  const core = await startCore({ settings: { answers: [{ message: 'Overwrite *', ...YES }] } });
  const session = await core.gateway.open('local', { view: groupView('all'), owner: { kind: 'connection' } });
  asksFirst(core);
  expect(await callWork(session)).toMatchObject({ kind: 'result' });
});

test('G-3: after a restart new rules answer questions that are still open', async () => {
  const first = await startCore();
  const owner = { kind: 'connection' } as const;
  const session = await first.gateway.open('local', { id: 's', view: directView('one'), owner });
  const request = { server: 'one', tool: 'work', args: {}, timeoutMs: 1, asTask: true };
  await session.calls.execute(session.connection('one'), request, SILENT);
  await turn();
  const call = first.backends.last.last;
  await call.keepAsTask();
  void call.ask(PARAMS, { key: 'k', detached: true }).catch(() => {});
  await session.settled();
  await first.stop();
  const next = await startCore({ settings: RULES, database: first.database });
  await turn();
  const answered = next.backends.last.last.ask(PARAMS, { key: 'k', detached: true });
  expect(await answered).toEqual({ action: 'accept', content: { ok: true } });
  expect(next.logged).toContain('standing_answer');
});

import { describe, expect, test } from 'vitest';
import { directSession, hubSession, SILENT, startCore, startTask, type Core } from '../../../tests/support/core.ts';
import { textResult } from '../../../tests/support/scripted-connection.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { CallReply, CallRequest } from '../call/request.ts';
import type { History, HistoryQuery } from '../ports/history.ts';
import type { Session } from '../session/session.ts';
import type { CallEntry, HistoryEntry, QuestionEntry } from './entry.ts';

const FORM = { message: 'Which size?', requestedSchema: { type: 'object', properties: { size: { type: 'string' } } } };
const ACCEPT = { action: 'accept', content: { size: 'L' } };

const historyOf = ({ gateway }: Pick<Core, 'gateway'>): History => gateway.store.history;

async function entries(core: Pick<Core, 'gateway'>, query: Partial<HistoryQuery> = {}): Promise<HistoryEntry[]> {
  return historyOf(core).read({
    kinds: ['call', 'question', 'summary'],
    order: 'oldest',
    limit: 1000,
    content: true,
    ...query,
  });
}

/** In the order in which they were written. */
async function callsOf(core: Core): Promise<CallEntry[]> {
  const found = (await entries(core, { kinds: ['call'] })) as CallEntry[];
  return found.toSorted((one, other) => one.seq - other.seq);
}

const questionsOf = async (core: Core): Promise<QuestionEntry[]> =>
  (await entries(core, { kinds: ['question'] })) as QuestionEntry[];

/** Lets the recorder write what has changed. */
async function pass({ clock }: Core, ms = 250): Promise<void> {
  for (let left = ms; left > 0; left -= 250) {
    clock.advance(Math.min(left, 250));
    await turn();
  }
}

/** A core whose start is over. */
async function started(options: Parameters<typeof startCore>[0] = {}): Promise<Core> {
  const core = await startCore(options);
  await pass(core);
  return core;
}

function execute(session: Session, request: Partial<CallRequest> = {}, caller = SILENT): Promise<CallReply> {
  const given = { server: 'one', tool: 'work', args: {}, timeoutMs: 60_000, ...request };
  return session.calls.execute(session.connection('one'), given, caller);
}

describe('calls', () => {
  test('W-4: a short call is one entry, written once', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    const { newest } = await historyOf(core).range();
    await execute(session, { args: { n: 1 }, program: 'editor' });
    expect(await entries(core)).toEqual([]);
    await pass(core);
    expect(await entries(core)).toEqual([
      {
        kind: 'call',
        id: expect.any(String),
        seq: newest + 1,
        principal: 'local',
        server: 'one',
        tool: 'work',
        sessionId: session.id,
        program: 'editor',
        view: 'hub',
        startedAt: expect.any(Number),
        endedAt: expect.any(Number),
        status: 'completed',
        waits: [],
        argumentBytes: expect.any(Number),
        resultBytes: expect.any(Number),
        arguments: { n: 1 },
        result: textResult('done'),
      },
    ]);
  });

  test('W-3: a running call is shown with its progress until it ends', async () => {
    const core = await started();
    const session = await directSession(core.gateway);
    const reply = execute(session, { args: { n: 1 } });
    await pass(core);
    expect(await callsOf(core)).toMatchObject([
      { status: 'running', view: 'direct', program: 'client', arguments: { n: 1 } },
    ]);
    const call = core.backends.last.last;
    call.progress(1, 3, 'first');
    await pass(core);
    call.progress(2, 3, 'second');
    await pass(core);
    // Not written for each step.
    expect((await callsOf(core))[0]?.progress).toBeUndefined();
    await pass(core, 750);
    expect((await callsOf(core))[0]?.progress).toEqual({ progress: 2, total: 3, message: 'second' });
    call.fail('no luck', -32_050);
    await reply;
    await pass(core);
    expect(await callsOf(core)).toMatchObject([
      { status: 'failed', error: { code: -32_050, message: 'no luck' }, statusMessage: 'second', arguments: { n: 1 } },
    ]);
  });

  test('W-3: a call and its task share one entry', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    const taskId = await startTask(session);
    await pass(core);
    const [running] = await callsOf(core);
    expect(running).toMatchObject({ taskId, status: 'running' });
    core.backends.last.last.end({ kind: 'result', result: { ...textResult('oh'), isError: true } });
    await turn();
    await pass(core);
    const { id } = running ?? {};
    expect(await callsOf(core)).toMatchObject([
      { id, taskId, status: 'completed', isError: true, result: { isError: true } },
    ]);
  });

  test('W-3: cancelled and expired tasks and cancelled calls end with that status', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    const cancelled = await startTask(session);
    const expired = await startTask(session);
    let leave = (): void => {};
    const reply = execute(
      session,
      {},
      {
        ...SILENT,
        onLeaving: (listener) => {
          leave = () => listener('cancelled');
          return () => {};
        },
      },
    );
    session.calls.cancel(cancelled, 'not needed');
    leave();
    await reply;
    core.clock.advance(300_000);
    await turn();
    await pass(core);
    const byTask = Object.fromEntries((await callsOf(core)).map((entry) => [entry.taskId ?? 'none', entry]));
    expect(byTask).toMatchObject({
      [cancelled]: { status: 'cancelled', statusMessage: 'not needed' },
      [expired]: { status: 'expired', error: { code: -32_001 } },
      none: { status: 'cancelled' },
    });
  });

  test('W-4: large arguments and results are left out, and their sizes are recorded', async () => {
    const core = await started({ settings: { history: { entryBytes: 1024 } } });
    const session = await hubSession(core.gateway);
    const large = 'x'.repeat(2000);
    core.backends.tools['work'] = (call) => call.answer(String(call.outgoing.args['returns']));
    await execute(session, { args: { returns: large } });
    await execute(session, { args: { pad: large, returns: 'small' } });
    await execute(session, { args: { returns: 'small' } });
    await pass(core);
    const [both, args, none] = await callsOf(core);
    expect(both).toMatchObject({ truncated: true });
    expect(both?.resultBytes).toBeGreaterThan(2000);
    expect(both).not.toHaveProperty('arguments');
    expect(both).not.toHaveProperty('result');
    expect(args).toMatchObject({ truncated: true, result: textResult('small') });
    expect(args).not.toHaveProperty('arguments');
    expect(none).toMatchObject({ arguments: { returns: 'small' }, result: textResult('small') });
    expect(none).not.toHaveProperty('truncated');
  });

  test('W-4: calls above the rate limit are counted per second and tool, and failed calls have a limit of their own', async () => {
    const core = await started({ settings: { history: { callsPerSecond: 3 } } });
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    core.backends.tools['broken'] = (call) => call.fail('no');
    core.clock.advance(1000 - (core.clock.now() % 1000));
    for (let index = 0; index < 10; index += 1) await execute(session);
    for (let index = 0; index < 5; index += 1) await execute(session, { tool: 'broken' });
    await pass(core);
    expect(await entries(core, { kinds: ['summary'] })).toEqual([]);
    await pass(core, 1000);
    const from = Math.floor(core.clock.now() / 1000) * 1000 - 1000;
    const summaries = await entries(core, { kinds: ['summary'] });
    expect(summaries.toSorted((one, other) => one.seq - other.seq)).toMatchObject([
      { tool: 'work', from, to: from + 1000, count: 7, errors: 0, longestMs: 0 },
      { tool: 'broken', count: 2, errors: 2 },
    ]);
    expect((await callsOf(core)).map(({ tool }) => tool)).toEqual([
      ...Array(3).fill('work'),
      ...Array(3).fill('broken'),
    ]);
    expect(await historyOf(core).tally(0)).toEqual([{ server: 'one', calls: 15, errors: 5 }]);
    // The next second has room again.
    await execute(session, { args: { next: true } });
    await pass(core);
    expect((await callsOf(core)).at(-1)).toMatchObject({ arguments: { next: true } });
  });

  test('W-3: calls that become tasks or take long have entries even above the rate limit', async () => {
    const core = await started({ settings: { history: { callsPerSecond: 1 } } });
    const session = await hubSession(core.gateway);
    core.clock.advance(1000 - (core.clock.now() % 1000));
    const replies = [
      execute(session, { tool: 'first' }),
      execute(session, { tool: 'slow' }),
      execute(session, { tool: 'slower' }),
    ];
    const taskId = await startTask(session);
    await pass(core);
    expect((await callsOf(core)).map(({ tool, taskId: id }) => [tool, id])).toEqual([
      ['first', undefined],
      ['work', taskId],
    ]);
    await pass(core, 1000);
    expect((await callsOf(core)).map(({ tool }) => tool)).toContain('slow');
    await pass(core, 1000);
    expect(await historyOf(core).count({ kinds: ['call'], active: true })).toBe(4);
    for (const call of core.backends.last.open) call.answer('done');
    await Promise.all(replies);
    await turn();
    await pass(core);
    expect(await historyOf(core).count({ kinds: ['call'], statuses: ['completed'] })).toBe(4);
    expect(await entries(core, { kinds: ['summary'] })).toEqual([]);
  });
});

describe('questions', () => {
  test('W-2: a question is an entry with its call, and its answer is recorded with principal and channel', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    const taskId = await startTask(session);
    await pass(core);
    const answered = core.backends.last.last.ask(FORM);
    await turn();
    await pass(core);
    const [question] = await questionsOf(core);
    const [call] = await callsOf(core);
    expect(question).toMatchObject({
      asks: 'elicitation',
      mode: 'form',
      status: 'open',
      server: 'one',
      tool: 'work',
      callId: call?.id,
      message: 'Which size?',
      params: FORM,
      principal: 'local',
    });
    expect(call).toMatchObject({ taskId, status: 'waiting', waits: [{ questionId: question?.id }] });
    expect(call?.waits[0]).not.toHaveProperty('to');
    core.clock.advance(5000);
    await session.interactions.answer(question?.id ?? '', 'elicitation', ACCEPT, 'console', 'ann');
    await answered;
    await pass(core);
    const [ended] = await questionsOf(core);
    expect(ended).toMatchObject({ status: 'accepted', answeredBy: { principal: 'ann', via: 'console' } });
    const [goesOn] = await callsOf(core);
    expect(goesOn?.status).toBe('running');
    const [wait] = goesOn?.waits ?? [];
    expect((wait?.to ?? 0) - (wait?.from ?? 0)).toBeGreaterThanOrEqual(5000);
  });

  test('W-2: answers by clients and tools, refused and expired questions are told apart', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    await startTask(session);
    const ask = async (): Promise<string> => {
      core.backends.last.last.ask(FORM).catch(() => {});
      await turn();
      return session.interactions.list('elicitation').at(-1)?.id ?? '';
    };
    const tools = await ask();
    await session.interactions.answer(tools, 'elicitation', { action: 'decline' }, 'tools');
    const client = await ask();
    await session.interactions.answer(client, 'elicitation', { action: 'cancel' });
    const refused = await ask();
    session.interactions.refuse(refused, { code: -32_600, message: 'not here' }, 'round');
    const expired = await ask();
    core.clock.advance(600_000);
    await turn();
    await pass(core);
    const byId = Object.fromEntries((await questionsOf(core)).map((entry) => [entry.id, entry]));
    const local = { principal: 'local' };
    expect(byId).toMatchObject({
      [tools]: { status: 'declined', answeredBy: { ...local, via: 'tools' } },
      [client]: { status: 'cancelled', answeredBy: { ...local, via: 'client' } },
      [refused]: { status: 'rejected', reason: 'not here', answeredBy: { ...local, via: 'client' } },
      [expired]: { status: 'expired', reason: 'not answered in time' },
    });
    expect(byId[expired]).not.toHaveProperty('answeredBy');
  });

  test('W-2: a large question is kept in full while it is open', async () => {
    const core = await started({ settings: { history: { entryBytes: 1024 } } });
    const session = await hubSession(core.gateway);
    await startTask(session);
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'x'.repeat(5000) } }], maxTokens: 5 };
    const asked = core.backends.last.last.ask(params, { kind: 'sampling' }).catch(() => {});
    await turn();
    await pass(core);
    const [open] = await questionsOf(core);
    expect(open).toMatchObject({ asks: 'sampling', params });
    expect(open?.message?.length).toBeLessThan(1100);
    session.interactions.refuse(open?.id ?? '', { code: -1, message: 'no' });
    await asked;
    await pass(core);
    const [ended] = await questionsOf(core);
    expect(ended).toMatchObject({ status: 'rejected', truncated: true });
    expect(ended).not.toHaveProperty('params');
  });
});

describe('after a restart', () => {
  async function restart(before: Core): Promise<Core> {
    await before.stop();
    const { database, clock } = before;
    return started({ database, clock });
  }

  test('P-2: tasks that continue keep their entry, and tasks that cannot continue have failed', async () => {
    const first = await started();
    const session = await hubSession(first.gateway);
    const plain = await startTask(session);
    const native = await startTask(session);
    await first.backends.last.last.keepAsTask();
    first.clock.advance(2000);
    const call = first.backends.last.last;
    void call.ask(FORM, { key: 'k', detached: true }).catch(() => {});
    await turn();
    await pass(first);
    const before = await callsOf(first);
    first.clock.advance(10_000);
    const second = await restart(first);
    const byTask = (found: CallEntry[]): Record<string, CallEntry> =>
      Object.fromEntries(found.map((entry) => [entry.taskId ?? '', entry]));
    const now = byTask(await callsOf(second));
    const was = byTask(before);
    expect(Object.keys(now)).toHaveLength(2);
    expect(now[plain]).toMatchObject({ id: was[plain]?.id, startedAt: was[plain]?.startedAt, status: 'failed' });
    expect(now[native]).toMatchObject({ id: was[native]?.id, startedAt: was[native]?.startedAt, arguments: {} });
    expect(now[native]).toMatchObject({ status: 'waiting', waits: was[native]?.waits });
    expect(await questionsOf(second)).toMatchObject([{ status: 'open', callId: was[native]?.id, tool: 'work' }]);
    second.backends.last.last.answer('after all');
    await turn();
    await pass(second);
    expect(byTask(await callsOf(second))[native]).toMatchObject({
      status: 'completed',
      result: textResult('after all'),
    });
    expect(await questionsOf(second)).toMatchObject([{ status: 'rejected' }]);
  });

  test('W-2, P-2: a question whose call cannot continue keeps its link to the call', async () => {
    const first = await started();
    const session = await hubSession(first.gateway);
    await startTask(session);
    void first.backends.last.last.ask(FORM).catch(() => {});
    await turn();
    await pass(first);
    const [asked] = await questionsOf(first);
    const { database, clock } = first;
    database.expireClaims();
    const second = await started({ database, clock });
    await pass(second);
    expect(await questionsOf(second)).toMatchObject([
      { id: asked?.id, status: 'rejected', callId: asked?.callId, tool: 'work', reason: 'gateway restarted' },
    ]);
  });

  test('P-2: running calls of a killed gateway are lost', async () => {
    const first = await started();
    const session = await hubSession(first.gateway);
    void execute(session);
    await pass(first);
    expect(await callsOf(first)).toMatchObject([{ status: 'running' }]);
    const { database, clock } = first;
    // Nothing of the first one has the chance to say so.
    database.expireClaims();
    const second = await started({ database, clock });
    expect(await callsOf(second)).toMatchObject([{ status: 'lost', endedAt: clock.now() }]);
  });

  test('P-2: a gateway that stops gracefully records how its calls ended', async () => {
    const first = await started();
    const session = await hubSession(first.gateway);
    void execute(session);
    await turn();
    const second = await restart(first);
    expect(await callsOf(second)).toMatchObject([{ status: 'failed' }]);
  });

  test('K-3: after a takeover only the new owner of a session writes its entries', async () => {
    const first = await started({ shared: true });
    const session = await hubSession(first.gateway);
    const taskId = await startTask(session);
    await first.backends.last.last.keepAsTask();
    await pass(first);
    const { database, clock } = first;
    first.backends.last.last.progress(1, 2, 'here');
    const second = await started({ shared: true, database, clock });
    await first.gateway.drain();
    await second.gateway.restore(session.id, 'local');
    await pass(second);
    second.backends.last.last.progress(2, 2, 'there');
    await first.stop();
    await pass(second, 11_000);
    expect(await callsOf(second)).toMatchObject([{ taskId, status: 'running', statusMessage: 'there' }]);
  });
});

test('K-3: a plain call of a session that another gateway has taken over is recorded as lost', async () => {
  const first = await started({ shared: true });
  const session = await hubSession(first.gateway);
  void execute(session);
  const taskId = await startTask(session);
  await pass(first);
  session.calls.leave();
  await pass(first);
  expect((await callsOf(first)).map((entry) => [entry.taskId, entry.status])).toEqual([
    [taskId, 'running'],
    [undefined, 'lost'],
  ]);
});

describe('a history that cannot be written', () => {
  const broken = async (): Promise<Core & { fail: (error: Error | undefined) => void }> => {
    const core = await started();
    const history = historyOf(core) as History & { held: Promise<void> | undefined };
    const fail = (error: Error | undefined): void => {
      history.held = error && Promise.reject(error);
      history.held?.catch(() => {});
    };
    return { ...core, fail };
  };

  test('W-4: does not fail or delay calls, is logged once, and is written after it recovers', async () => {
    const core = await broken();
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    core.fail(new Error('disk full'));
    for (let index = 0; index < 3; index += 1) {
      expect(await execute(session, { args: { index } })).toMatchObject({ kind: 'result' });
      await pass(core, 2000);
    }
    expect(core.logged.filter((event) => event === 'history_write_failed')).toHaveLength(1);
    expect(await entries(core)).toEqual([]);
    core.fail(undefined);
    await pass(core, 30_000);
    expect((await callsOf(core)).map((entry) => entry.arguments)).toEqual([{ index: 0 }, { index: 1 }, { index: 2 }]);
    expect(core.logged).toContain('history_write_recovered');
  });

  test('W-4: does not let one invalid entry block the other entries', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    const history = historyOf(core);
    const append = history.append.bind(history);
    history.append = async (writes) => {
      if (writes.some(({ content }) => content?.arguments?.['index'] === 3)) throw new Error('no such text');
      await append(writes);
    };
    for (let index = 0; index < 10; index += 1) await execute(session, { args: { index } });
    await pass(core, 60_000);
    // Only when others could be written since is it clear that this one cannot.
    for (let index = 10; index < 12; index += 1) {
      await execute(session, { args: { index } });
      await pass(core, 60_000);
    }
    const found = (await callsOf(core)).map((entry) => entry.arguments?.['index']);
    expect(found.toSorted((one, other) => Number(one) - Number(other))).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(core.logged).toContain('history_entries_dropped');
  });

  test('W-4: records the ends of tasks after it recovers, however often writing was tried', async () => {
    const core = await broken();
    const session = await hubSession(core.gateway);
    const tasks = await Promise.all(Array.from({ length: 5 }, async () => startTask(session)));
    await pass(core);
    expect((await callsOf(core)).map(({ status }) => status)).toEqual(tasks.map(() => 'running'));
    core.fail(new Error('connection refused'));
    for (const call of core.backends.last.calls) call.answer('done');
    await turn();
    // As requests to the API do.
    for (let count = 0; count < 30; count += 1) {
      await core.gateway.recorder?.flush();
      await pass(core, 500);
    }
    core.fail(undefined);
    await pass(core, 60_000);
    expect((await callsOf(core)).map(({ status, result }) => [status, result])).toEqual(
      tasks.map(() => ['completed', textResult('done')]),
    );
    expect(core.logged).not.toContain('history_entries_dropped');
  });

  test('W-4: closes an entry whose end was dropped', async () => {
    const core = await broken();
    const session = await hubSession(core.gateway);
    const taskId = await startTask(session);
    await pass(core);
    const history = historyOf(core);
    const append = history.append.bind(history);
    history.append = async (writes) => {
      if (writes.some(({ content }) => content?.result !== undefined && content.arguments?.['bad'] === undefined)) {
        throw new Error('no such text');
      }
      await append(writes);
    };
    core.backends.last.last.answer('done');
    await turn();
    for (let index = 0; index < 3; index += 1) {
      core.backends.tools['work'] = (call) => call.answer('done');
      await execute(session, { args: { bad: false } });
      await pass(core, 60_000);
    }
    expect(core.logged).toContain('history_entries_dropped');
    const ended = (await callsOf(core)).find((entry) => entry.taskId === taskId);
    expect(ended).toMatchObject({ status: 'completed', endedAt: expect.any(Number) });
    expect(ended).not.toHaveProperty('result');
  });

  test('W-4: delays neither calls nor shutdown if a write never returns', async () => {
    const core = await broken();
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    (historyOf(core) as History & { held: Promise<void> }).held = new Promise(() => {});
    expect(await execute(session)).toMatchObject({ kind: 'result' });
    await pass(core);
    expect(await execute(session)).toMatchObject({ kind: 'result' });
    const closing = core.gateway.close('the end');
    await pass(core, 5000);
    await closing;
  });

  test('W-4: keeps a limited number of changes in memory', async () => {
    const core = await started({ settings: { history: { callsPerSecond: 1_000_000 } } });
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    const history = historyOf(core) as History & { held: Promise<void> | undefined };
    history.held = Promise.reject(new Error('disk full'));
    history.held.catch(() => {});
    for (let index = 0; index < 10_050; index += 1) {
      void execute(session);
      if (index % 50 === 49) await turn();
    }
    await turn();
    await pass(core);
    history.held = undefined;
    await pass(core, 60_000);
    await turn();
    expect(await historyOf(core).count({ kinds: ['call', 'summary'] })).toBe(10_000);
    expect(await entries(core, { kinds: ['summary'] })).toMatchObject([{ count: 50 }]);
    expect(core.logged.filter((event) => event === 'history_entries_dropped')).toHaveLength(1);
  });
});

describe('settings', () => {
  test('W-4: keepMs 0 records nothing and deletes existing entries', async () => {
    const first = await started();
    const session = await hubSession(first.gateway);
    first.backends.tools['work'] = (call) => call.answer('done');
    await execute(session);
    await first.stop();
    const { database, clock } = first;
    const second = await startCore({ database, clock, settings: { history: { keepMs: 0 } } });
    expect(await callsOf(second)).toHaveLength(1);
    second.backends.tools['work'] = (call) => call.answer('done');
    await execute(await hubSession(second.gateway));
    await pass(second, 1000);
    expect(await entries(second)).toEqual([]);
  });

  test('W-4: entries are deleted keepMs after their end', async () => {
    const core = await started({ settings: { history: { keepMs: 600_000 } } });
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    await execute(session);
    await pass(core, 540_000);
    expect(await callsOf(core)).toHaveLength(1);
    await pass(core, 120_000);
    expect(await callsOf(core)).toEqual([]);
  });

  test('W-4: the entries that ended first are deleted above the size limit', async () => {
    const core = await started({ settings: { history: { bytes: 1_048_576, callsPerSecond: 1000 } } });
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    const args = { text: 'x'.repeat(50_000) };
    for (let index = 0; index < 60; index += 1) {
      await execute(session, { args: { ...args, index } });
      await pass(core);
    }
    const left = await callsOf(core);
    expect(left.length).toBeLessThan(25);
    expect(left.at(-1)).toMatchObject({ arguments: { index: 59 } });
  });
});

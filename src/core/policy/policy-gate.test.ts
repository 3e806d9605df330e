/** Calls under rules, through a whole core with a server and a clock that the test moves. */
import { describe, expect, test } from 'vitest';
import { asked, type Core, directSession, hubSession, ONE, SILENT, startCore } from '../../../tests/support/core.ts';
import { turn } from '../../../tests/support/turn.ts';
import type { Caller, CallReply, CallRequest } from '../call/request.ts';
import type { Session } from '../session/session.ts';
import type { Rule } from './rule.ts';

const ASK: Rule = { tool: 'delete', then: 'ask', remember: true };
const ALLOW = { action: 'accept', content: { decision: 'allow' } };
const ALWAYS = { action: 'accept', content: { decision: 'always' } };
const DENY = { action: 'accept', content: { decision: 'deny' } };
/** A client whose request stays open whatever is asked. */
const WAITING: Caller = { ...SILENT, effectOf: () => 'wait' };

const underRules = async (rules: Rule[], more: Record<string, unknown> = {}): Promise<Core> =>
  startCore({ settings: { rules, ...more } });

function call(session: Session, more: Partial<CallRequest> = {}, caller: Caller = WAITING): Promise<CallReply> {
  const request = { server: 'one', tool: 'delete', args: { path: '/a' }, timeoutMs: Infinity, ...more };
  return session.calls.execute(session.connection('one'), request, caller);
}

const answer = async (session: Session, id: string, content: unknown): Promise<unknown> =>
  session.interactions.answer(id, 'elicitation', content, 'console');

/** The tools of the calls that reached the server. */
const received = ({ backends }: Core): unknown[] =>
  backends.connections.flatMap(({ calls }) => calls.map(({ outgoing }) => [outgoing.tool, outgoing.args]));

function refusalIn(reply: CallReply): string {
  if (reply.kind !== 'result' || reply.result['isError'] !== true) throw new Error(JSON.stringify(reply));
  return (reply.result['content'] as { text: string }[])[0]?.text ?? '';
}

test('G-2, G-3: a standing answer does not approve a call', async () => {
  const core = await underRules([ASK], { answers: [{ action: 'accept', content: { decision: 'allow' } }] });
  const session = await hubSession(core.gateway);
  const reply = call(session);
  const { id } = await asked(session);
  expect(received(core)).toEqual([]);
  await answer(session, id, DENY);
  expect(refusalIn(await reply)).toContain('was not called');
});

describe('allow and deny', () => {
  test('G-1: a call that no rule matches or that a rule allows is sent without a question', async () => {
    const core = await underRules([{ tool: 'read', then: 'allow' }, ASK]);
    core.backends.tools['read'] = core.backends.tools['other'] = (made) => made.answer('done');
    const session = await hubSession(core.gateway);
    for (const tool of ['read', 'other']) expect(await call(session, { tool })).toMatchObject({ kind: 'result' });
    expect(session.interactions.size).toBe(0);
    expect(core.backends.last.requests).toEqual([]);
  });

  test('G-1: a call that a rule denies is not sent, and its result has the reason', async () => {
    const core = await underRules([{ tool: 'delete', then: 'deny', message: 'Never on Fridays.' }]);
    const session = await hubSession(core.gateway);
    const text = refusalIn(await call(session));
    expect(text).toContain("'delete' on server 'one' was not called: a rule of the gateway denies this call");
    expect(text).toContain('Never on Fridays.');
    expect(received(core)).toEqual([]);
    expect(session.calls.size).toBe(0);
  });

  test('G-1: a task that a rule denies ends with the refusal as its result', async () => {
    const core = await underRules([{ then: 'deny' }]);
    const session = await hubSession(core.gateway);
    const reply = await call(session, { asTask: true });
    await turn();
    expect(session.tasks.list()).toMatchObject([{ status: 'completed', result: { isError: true } }]);
    expect(reply.kind).toBe('task');
    expect(received(core)).toEqual([]);
  });

  test('G-1: with rules, a malformed tools/call cannot be relayed as another request', async () => {
    const core = await underRules([ASK]);
    const session = await directSession(core.gateway);
    const request = {
      id: 'x',
      method: 'tools/call',
      params: { name: 'delete', arguments: ['/a'] },
      signal: new AbortController().signal,
      onProgress: () => {},
      rounds: 'return',
    } as const;
    await expect(session.relay('one', request)).rejects.toThrow("'arguments' to be an object");
    const free = await directSession((await startCore()).gateway);
    await expect(free.relay('one', request)).rejects.toThrow('Method not found');
  });
});

describe('annotations', () => {
  const DESTRUCTIVE: Rule[] = [{ annotations: { destructiveHint: true }, then: 'deny' }];
  const TOOLS = [{ name: 'read', annotations: { readOnlyHint: true } }, { name: 'delete' }];

  test('G-1: the tool list is read when a rule first needs it, and again after it has changed', async () => {
    const core = await underRules(DESTRUCTIVE);
    let tools: Record<string, unknown>[] = TOOLS;
    core.backends.methods['tools/list'] = () => ({ tools });
    core.backends.tools['read'] = (made) => made.answer('done');
    const session = await hubSession(core.gateway);
    for (const _ of [1, 2]) expect(await call(session, { tool: 'read' })).toMatchObject({ kind: 'result' });
    refusalIn(await call(session));
    const lists = (): number => core.backends.last.requests.filter(({ method }) => method === 'tools/list').length;
    expect(lists()).toBe(1);
    tools = [{ name: 'read' }];
    core.backends.last.say('notifications/tools/list_changed', undefined);
    refusalIn(await call(session, { tool: 'read' }));
    expect(lists()).toBe(2);
    expect(received(core)).toHaveLength(2);
  });

  test('G-1: a tool list that changes while it is read is read again before the rule decides', async () => {
    const core = await underRules(DESTRUCTIVE);
    const reads: ((tools: object[]) => void)[] = [];
    core.backends.methods['tools/list'] = async () =>
      new Promise((resolve) => reads.push((tools) => resolve({ tools })));
    const session = await hubSession(core.gateway);
    const replies = [call(session, { tool: 'read' }), call(session, { tool: 'read' })];
    await turn();
    expect(reads).toHaveLength(1);
    core.backends.last.say('notifications/tools/list_changed', undefined);
    reads[0]?.(TOOLS);
    await turn();
    expect([received(core), reads.length]).toEqual([[], 2]);
    reads[1]?.([{ name: 'read' }]);
    for (const reply of replies) refusalIn(await reply);
    // Nor is it remembered.
    refusalIn(await call(session, { tool: 'read' }));
    expect(received(core)).toEqual([]);
  });

  test('G-1: a call that needs annotations fails if the server keeps changing its tool list', async () => {
    const core = await underRules(DESTRUCTIVE);
    core.backends.methods['tools/list'] = () => {
      core.backends.last.say('notifications/tools/list_changed', undefined);
      return { tools: TOOLS };
    };
    const session = await hubSession(core.gateway);
    const reply = await call(session, { tool: 'read' });
    expect(reply.kind === 'failed' && reply.error.message).toContain('keeps changing its list of tools');
    expect(received(core)).toEqual([]);
  });

  test('G-1: a call that needs annotations fails if the tool list cannot be read', async () => {
    const core = await underRules(DESTRUCTIVE);
    core.backends.unreachable = 'nobody listens';
    const session = await hubSession(core.gateway);
    const reply = await call(session, { tool: 'read' });
    expect(reply).toMatchObject({ kind: 'failed', outcome: { kind: 'unreachable' } });
    expect(reply.kind === 'failed' && reply.error.message).toContain('the rules need the annotations');
  });
});

describe('a call that needs approval', () => {
  test('G-1, G-2: asks a question with its arguments before it is sent, and is sent once when it is allowed', async () => {
    const core = await underRules([{ ...ASK, message: 'This cannot be undone.' }]);
    const session = await hubSession(core.gateway);
    const reply = call(session);
    const { id, params, approval } = await asked(session);
    expect(params['message']).toBe('Allow delete on one?\nThis cannot be undone.\nArguments: {\n  "path": "/a"\n}');
    expect(approval).toMatchObject({
      tool: 'delete',
      argumentsHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(received(core)).toEqual([]);
    await answer(session, id, ALLOW);
    await turn();
    expect(received(core)).toEqual([['delete', { path: '/a' }]]);
    core.backends.last.last.answer('gone');
    expect(await reply).toMatchObject({ kind: 'result', result: { content: [{ text: 'gone' }] } });
    expect(core.database.rowsOf(session.id).question.size).toBe(0);
    // The next one is another call.
    void call(session);
    expect((await asked(session)).id).not.toBe(id);
  });

  test.each([
    [DENY, 'denied it'],
    [{ action: 'decline' }, 'denied it'],
    [{ action: 'cancel' }, 'dismissed without a decision'],
  ])('G-2: is not sent if the answer is %j', async (given, words) => {
    const core = await underRules([ASK]);
    const session = await hubSession(core.gateway);
    const reply = call(session);
    const { id } = await asked(session);
    await answer(session, id, given);
    expect(refusalIn(await reply)).toContain(words);
    expect(received(core)).toEqual([]);
    await expect(answer(session, id, ALLOW)).rejects.toThrow('no pending elicitation request');
    await turn();
    expect(core.database.rowsOf(session.id).question.size).toBe(0);
  });

  test('G-2: is not sent without an answer in time, and a late answer is refused', async () => {
    const core = await underRules([{ ...ASK, timeoutMs: 120_000 }]);
    const session = await hubSession(core.gateway);
    const reply = call(session);
    const { id } = await asked(session);
    core.clock.advance(120_000);
    expect(refusalIn(await reply)).toContain('no person decided within 2 min. Repeat the call');
    await expect(answer(session, id, ALLOW)).rejects.toThrow('no pending elicitation request');
    await turn();
    expect(received(core)).toEqual([]);
    expect(session.interactions.size).toBe(0);
    expect(core.database.rowsOf(session.id).question.size).toBe(0);
  });

  test('G-2: is not sent if the client refuses the question', async () => {
    const core = await underRules([ASK]);
    const session = await hubSession(core.gateway);
    const reply = call(session);
    const { id } = await asked(session);
    session.interactions.refuse(id, { code: -32601, message: 'Method not found' });
    expect(refusalIn(await reply)).toContain('there was no decision: Method not found');
    expect(received(core)).toEqual([]);
  });

  test('G-2: is approved for its own arguments only, so another call asks again', async () => {
    const core = await underRules([ASK]);
    const session = await hubSession(core.gateway);
    void call(session);
    const { id, approval } = await asked(session);
    void call(session, { args: { path: '/b' } });
    await turn();
    const other = session.interactions.list('elicitation').find((each) => each.id !== id);
    expect(other?.approval?.argumentsHash).not.toBe(approval?.argumentsHash);
    await answer(session, id, ALLOW);
    await turn();
    expect(received(core)).toEqual([['delete', { path: '/a' }]]);
    expect(session.interactions.size).toBe(1);
  });

  test('G-2: sets “always” for the tool and the session, if the rule allows it', async () => {
    const never: Rule = { tool: 'delete', args: { path: '/etc/*' }, then: 'ask' };
    const core = await underRules([never, ASK, { tool: 'drop', then: 'ask', remember: true }]);
    const session = await hubSession(core.gateway);
    void call(session);
    await answer(session, (await asked(session)).id, ALWAYS);
    await turn();
    void call(session, { args: { path: '/b' } });
    await turn();
    expect(received(core)).toHaveLength(2);
    void call(session, { tool: 'drop' });
    await turn();
    void call(session, { args: { path: '/etc/passwd' } });
    await turn();
    const open = session.interactions.list('elicitation');
    expect(open.map((each) => each.approval?.tool)).toEqual(['drop', 'delete']);
    // The rule for /etc does not offer it.
    await expect(answer(session, open[1]?.id ?? '', ALWAYS)).rejects.toThrow('invalid');
    const another = await hubSession(core.gateway);
    void call(another);
    await asked(another);
    expect(received(core)).toHaveLength(2);
    expect(session.record.remembered).toMatchObject({ one: { tools: ['delete'] } });
    await session.detach('one', { reason: 'removed', replaced: false });
    expect(session.record.remembered).toBeUndefined();
  });

  test('G-2: cannot be approved with the hub tools if a person has to approve it', async () => {
    const core = await underRules([{ tool: 'delete', then: 'ask', approver: 'person' }]);
    const session = await hubSession(core.gateway);
    void call(session);
    const { id } = await asked(session);
    const byTools = session.interactions.answer(id, 'elicitation', ALLOW, 'tools');
    await expect(byTools).rejects.toThrow('a person must decide this');
    await answer(session, id, ALLOW);
    await turn();
    expect(received(core)).toHaveLength(1);
  });

  test('G-2: cannot be set to “always” by a model', async () => {
    const core = await underRules([ASK]);
    const session = await hubSession(core.gateway);
    void call(session);
    const { id } = await asked(session);
    const byTools = session.interactions.answer(id, 'elicitation', ALWAYS, 'tools');
    await expect(byTools).rejects.toThrow('only a person can allow a tool');
    expect(received(core)).toEqual([]);
    await session.interactions.answer(id, 'elicitation', ALLOW, 'tools');
    await turn();
    expect(received(core)).toHaveLength(1);
  });

  test('G-2: is not sent after an answer past the deadline, even if the timer has not fired', async () => {
    const core = await underRules([{ ...ASK, timeoutMs: 1000 }]);
    const session = await hubSession(core.gateway);
    const reply = call(session);
    const { id } = await asked(session);
    core.clock.skip(2000);
    await expect(answer(session, id, ALLOW)).rejects.toThrow('expired');
    expect(refusalIn(await reply)).toContain('was not called');
    expect(received(core)).toEqual([]);
  });

  test('G-2: withdraws its question when it is cancelled', async () => {
    const core = await underRules([ASK]);
    const session = await hubSession(core.gateway);
    const reply = await call(session, { asTask: true });
    await asked(session);
    if (reply.kind === 'task') session.calls.cancel(reply.task.id, 'not wanted');
    await turn();
    expect(session.interactions.size).toBe(0);
    expect(session.tasks.list()).toMatchObject([{ status: 'cancelled' }]);
    expect(received(core)).toEqual([]);
    expect(session.calls.size).toBe(0);
  });

  test('G-2: keeps its question if the server is lost', async () => {
    const core = await underRules([ASK]);
    const session = await hubSession(core.gateway);
    await session.connection('one').ready();
    await call(session, { asTask: true });
    const { id } = await asked(session);
    core.backends.last.lose();
    expect((await asked(session)).id).toBe(id);
    core.backends.last.comeBack();
    await answer(session, id, ALLOW);
    await turn();
    expect(received(core)).toHaveLength(1);
  });

  test('G-2: is not sent if the use of the approval cannot be stored', async () => {
    const core = await underRules([ASK]);
    const session = await hubSession(core.gateway);
    await call(session, { asTask: true });
    const { id } = await asked(session);
    let connect = (): void => {};
    core.backends.gate = new Promise((resolve) => {
      connect = resolve;
    });
    await answer(session, id, ALLOW);
    await turn();
    core.database.failing = new Error('the disk is full');
    connect();
    await turn();
    expect(received(core)).toEqual([]);
    expect(session.tasks.list()).toMatchObject([
      { status: 'failed', error: { message: 'the use of the approval could not be stored: the disk is full' } },
    ]);
    core.database.failing = undefined;
  });
});

describe('after a restart', () => {
  /** As if the process had been killed: the first gateway does nothing more. */
  async function afterKill(core: Core, sessionId: string, settings: Record<string, unknown>): Promise<[Core, Session]> {
    const { database, clock } = core;
    database.expireClaims();
    const next = await startCore({ database, clock, shared: true, settings });
    const session = await next.gateway.restore(sessionId, 'local');
    if (session === undefined) throw new Error('there is no such session');
    await turn();
    return [next, session];
  }

  const start = async (rules: Rule[]): Promise<{ core: Core; session: Session; taskId: string }> => {
    const core = await startCore({ settings: { rules }, shared: true });
    const session = await hubSession(core.gateway);
    const reply = await call(session, { asTask: true, bare: true, args: {}, meta: { a: 1 }, more: { b: 2 } });
    if (reply.kind !== 'task') throw new Error('no task');
    return { core, session, taskId: reply.task.id };
  };

  test('G-2: the question is open under the same ID, and the approved call is sent once and unchanged', async () => {
    const { core, session, taskId } = await start([ASK]);
    const { id } = await asked(session);
    const [next, restored] = await afterKill(core, session.id, { rules: [{ ...ASK, message: 'other words' }] });
    expect((await asked(restored)).id).toBe(id);
    await answer(restored, id, ALLOW);
    await turn();
    expect(received(next)).toEqual([['delete', {}]]);
    expect(next.backends.last.last.outgoing).toMatchObject({ bare: true, meta: { a: 1 }, more: { b: 2 } });
    expect(next.backends.last.last.resumedFrom).toBeUndefined();
    next.backends.last.last.answer('gone');
    await turn();
    expect(restored.tasks.get(taskId)).toMatchObject({ status: 'completed' });
    expect(next.database.rowsOf(session.id).question.size).toBe(0);
    expect(received(core)).toEqual([]);
  });

  test('G-2: an answer that was stored before the call was sent is used once', async () => {
    const { core, session } = await start([ASK]);
    const { id } = await asked(session);
    // The server cannot be reached until the process is killed.
    core.backends.gate = new Promise(() => {});
    await answer(session, id, ALLOW);
    await turn();
    const [next, restored] = await afterKill(core, session.id, { rules: [ASK] });
    expect(restored.interactions.size).toBe(0);
    expect(received(next)).toHaveLength(1);
    const [last] = await afterKill(next, session.id, { rules: [ASK] });
    expect(received(last)).toEqual([]);
    expect(last.gateway.sessions[0]?.tasks.list()).toMatchObject([
      { status: 'failed', error: { message: expect.stringContaining('running on the server') as string } },
    ]);
  });

  test('G-2: a call whose question has expired or that a rule now denies fails', async () => {
    const { core, session, taskId } = await start([{ ...ASK, timeoutMs: 1000 }]);
    await asked(session);
    core.clock.skip(1000);
    const [next, restored] = await afterKill(core, session.id, { rules: [ASK] });
    next.clock.advance(0);
    await turn();
    expect(restored.tasks.get(taskId)).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(received(next)).toEqual([]);
    const second = await start([ASK]);
    const { id } = await asked(second.session);
    const [denying, again] = await afterKill(second.core, second.session.id, { rules: [{ then: 'deny' }] });
    expect(again.interactions.find(id)).toBeUndefined();
    expect(again.tasks.get(second.taskId)).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(received(denying)).toEqual([]);
  });

  test('G-2: an approval is not used if the arguments have changed', async () => {
    const { core, session, taskId } = await start([ASK]);
    const { id } = await asked(session);
    core.backends.gate = new Promise(() => {});
    await answer(session, id, ALLOW);
    await turn();
    const { task } = core.database.rowsOf(session.id);
    const stored = task.get(taskId);
    if (stored !== undefined) task.set(taskId, { ...stored, args: { path: '/etc' } });
    const [next, restored] = await afterKill(core, session.id, { rules: [ASK] });
    expect(restored.tasks.get(taskId)).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(received(next)).toEqual([]);
  });

  test('G-2: a stricter rule applies: only a person, an earlier deadline, and not for later calls', async () => {
    const { core, session, taskId } = await start([ASK]);
    const { id, expiresAt } = await asked(session);
    const rule: Rule = { tool: 'delete', then: 'ask', approver: 'person', timeoutMs: 60_000, message: 'Look twice.' };
    const [next, restored] = await afterKill(core, session.id, { rules: [rule] });
    const question = await asked(restored);
    expect(question).toMatchObject({ id, expiresAt: question.createdAt + 60_000 });
    expect(question.expiresAt).toBeLessThan(expiresAt);
    expect(question.params['message']).toContain('Look twice.');
    await expect(restored.interactions.answer(id, 'elicitation', ALLOW, 'tools')).rejects.toThrow('a person must');
    // Not offered any more.
    await expect(answer(restored, id, ALWAYS)).rejects.toThrow('expected one of "allow", "deny"');
    next.clock.advance(60_000);
    await turn();
    expect(restored.tasks.get(taskId)).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(received(next)).toEqual([]);
  });

  test('G-2: a rule that now allows the call does not replace the open question', async () => {
    for (const rules of [[{ ...ASK, then: 'allow' as const, remember: undefined }], [{ ...ASK, tool: 'other' }]]) {
      const { core, session } = await start([{ ...ASK, approver: 'person', timeoutMs: 60_000 }]);
      const { id, expiresAt } = await asked(session);
      const [next, restored] = await afterKill(core, session.id, { rules });
      expect(await asked(restored)).toMatchObject({ id, expiresAt, approval: { approver: 'person' } });
      expect(received(next)).toEqual([]);
      await answer(restored, id, ALLOW);
      await turn();
      expect(received(next)).toHaveLength(1);
    }
  });

  test('G-2: an earlier answer with tools does not count if a rule now requires a person', async () => {
    const { core, session, taskId } = await start([ASK]);
    const { id } = await asked(session);
    core.backends.gate = new Promise(() => {});
    await session.interactions.answer(id, 'elicitation', ALLOW, 'tools');
    await turn();
    const [next, restored] = await afterKill(core, session.id, { rules: [{ ...ASK, approver: 'person' }] });
    const task = restored.tasks.get(taskId);
    expect(task).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(JSON.stringify(task)).toContain('requires a person to decide');
    expect(received(next)).toEqual([]);
    expect(next.database.rowsOf(session.id).question.size).toBe(0);
  });

  describe('while the server is unreachable and its annotations are unknown', () => {
    const rules: Rule[] = [{ annotations: { destructiveHint: true }, then: 'ask' }];

    async function unreachable(then: Rule[]): Promise<{ next: Core; restored: Session; taskId: string; id: string }> {
      const core = await startCore({ settings: { rules }, shared: true });
      core.backends.methods['tools/list'] = () => ({ tools: [{ name: 'delete' }] });
      const session = await hubSession(core.gateway);
      const reply = await call(session, { asTask: true });
      const { id } = await asked(session);
      const { database, clock } = core;
      database.expireClaims();
      const next = await startCore({ database, clock, shared: true, settings: { rules: then } });
      next.backends.methods['tools/list'] = () => {
        throw new Error('not yet');
      };
      const restored = await next.gateway.restore(session.id, 'local');
      await turn();
      return { next, restored: restored as Session, taskId: reply.kind === 'task' ? reply.task.id : '', id };
    }

    test('G-2: the question stays open, and the rules apply before the approved call is sent', async () => {
      const { next, restored, id } = await unreachable(rules);
      expect((await asked(restored)).id).toBe(id);
      next.backends.methods['tools/list'] = () => ({ tools: [{ name: 'delete' }] });
      await answer(restored, id, ALLOW);
      await turn();
      expect(received(next)).toHaveLength(1);
    });

    test.each([
      ['deny', { then: 'deny' as const }, 'denies this call'],
      ['require a person', { then: 'ask' as const, approver: 'person' as const }, 'requires a person'],
    ])('G-2: the call is not sent if the rules now %s, or cannot be applied', async (_what, more, words) => {
      const { next, restored, taskId, id } = await unreachable([{ ...rules[0], ...more }]);
      next.backends.methods['tools/list'] = () => ({ tools: [{ name: 'delete' }] });
      await answer(restored, id, ALLOW);
      await turn();
      expect(JSON.stringify(restored.tasks.get(taskId))).toContain(words);
      const still = await unreachable(rules);
      await answer(still.restored, still.id, ALLOW);
      await turn();
      expect(JSON.stringify(still.restored.tasks.get(still.taskId))).toContain('the rules need the annotations');
      expect([...received(next), ...received(still.next)]).toEqual([]);
    });
  });

  test.each([
    ['the same server', ONE, 0],
    ['another server', { url: 'http://elsewhere.test/' }, 1],
  ])('G-2: “always” for a tool of a server: with %s of that name, %d questions', async (_what, config, questions) => {
    const first = await underRules([ASK]);
    const session = await hubSession(first.gateway);
    void call(session);
    await answer(session, (await asked(session)).id, ALWAYS);
    await turn();
    first.backends.last.last.answer('gone');
    await first.stop();
    const { database, clock } = first;
    const next = await startCore({ database, clock, settings: { rules: [ASK] }, servers: { one: config } });
    const restored = (await next.gateway.restore(session.id, 'local')) as Session;
    void call(restored);
    await turn();
    expect([restored.interactions.size, received(next).length]).toEqual([questions, 1 - questions]);
    if (questions === 0) return;
    await answer(restored, (await asked(restored)).id, ALWAYS);
    await turn();
    void call(restored);
    await turn();
    expect([restored.interactions.size, received(next).length]).toEqual([0, 2]);
  });

  test('G-2: a call that waited for approval is not sent if the config has no rules any more', async () => {
    const { core, session, taskId } = await start([ASK]);
    await asked(session);
    const [next, restored] = await afterKill(core, session.id, {});
    expect(restored.tasks.get(taskId)).toMatchObject({ status: 'failed' });
    expect(restored.interactions.size).toBe(0);
    expect(received(next)).toEqual([]);
  });

  test('G-2: a gateway that stops leaves the question and the “always” decisions to the next one', async () => {
    const rules: Rule[] = [ASK, { tool: 'drop', then: 'ask' }];
    const first = await underRules(rules);
    const session = await hubSession(first.gateway);
    void call(session);
    await answer(session, (await asked(session)).id, ALWAYS);
    await turn();
    first.backends.last.last.answer('gone');
    const waiting = await call(session, { tool: 'drop', asTask: true });
    expect(waiting.kind).toBe('task');
    const { id } = await asked(session);
    await first.stop();
    const { database, clock } = first;
    const next = await startCore({ database, clock, settings: { rules } });
    const restored = await next.gateway.restore(session.id, 'local');
    if (restored === undefined) throw new Error('there is no such session');
    expect((await asked(restored)).id).toBe(id);
    next.backends.tools['delete'] = (made) => made.answer('gone');
    expect(await call(restored)).toMatchObject({ kind: 'result', result: { content: [{ text: 'gone' }] } });
    expect(restored.interactions.size).toBe(1);
    expect(received(next)).toEqual([['delete', { path: '/a' }]]);
  });
});

test('G-1: without rules a call passes without reading the tool list', async () => {
  const core = await startCore({ servers: { one: ONE } });
  core.backends.tools['delete'] = (made) => made.answer('gone');
  const session = await hubSession(core.gateway);
  expect(await call(session)).toMatchObject({ kind: 'result' });
  expect(core.backends.last.requests).toEqual([]);
});

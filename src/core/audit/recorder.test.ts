import { describe, expect, test } from 'vitest';
import { directSession, hubSession, SILENT, startCore, startTask, type Core } from '../../../tests/support/core.ts';
import { textResult } from '../../../tests/support/scripted-connection.ts';
import { MemoryAudit } from '../../../tests/support/memory-audit.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import { hashOf } from '../../lib/canonical-json.ts';
import { createLog } from '../../lib/log.ts';
import type { CallReply, CallRequest } from '../call/request.ts';
import type { Session } from '../session/session.ts';
import { AuditRecorder } from './recorder.ts';
import type { StoredLine } from './line.ts';

const FORM = { message: 'Which size?', requestedSchema: { type: 'object', properties: { size: { type: 'string' } } } };
const ACCEPT = { action: 'accept', content: { size: 'L' } };

const started = async (audit: object | boolean = true, options: Parameters<typeof startCore>[0] = {}): Promise<Core> =>
  startCore({ ...options, settings: { audit, ...options.settings } });

function auditOf({ gateway: { audit } }: Core): AuditRecorder {
  if (audit === undefined) throw new Error('the audit record is off');
  return audit;
}

/** Lets it write what has happened. */
async function pass({ clock }: Core, ms = 100): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(100);
    await turn();
    clock.advance(0);
    await turn();
  }
}

async function lines(core: Core): Promise<StoredLine[]> {
  return (await core.database.open({}).openAudit()).read({ order: 'oldest', limit: 100_000 });
}

function execute(session: Session, request: Partial<CallRequest> = {}, caller = SILENT): Promise<CallReply> {
  const given = { server: 'one', tool: 'work', args: {}, timeoutMs: 60_000, ...request };
  return session.calls.execute(session.connection('one'), given, caller);
}

describe('disabled', () => {
  test('G-5: without the setting, no audit record exists and nothing is written', async () => {
    for (const settings of [{}, { audit: false }]) {
      const core = await startCore({ settings: { history: { keepMs: 0 }, ...settings } });
      expect(core.gateway.audit).toBeUndefined();
      const session = await hubSession(core.gateway);
      core.backends.tools['work'] = (call) => call.answer('done');
      await execute(session);
      await pass(core);
      expect(await lines(core)).toEqual([]);
    }
  });
});

describe('calls', () => {
  test('G-5, G-1: a call that a rule denies or a person does not approve is recorded as such; a server cannot fake that', async () => {
    const rules = [
      { tool: 'denied', then: 'deny' },
      { tool: 'asked', then: 'ask', timeoutMs: 1000 },
    ];
    const core = await started(true, { settings: { rules } });
    const session = await hubSession(core.gateway);
    const _meta = { 'meanwhile/refused': { code: 'TOOL_ERR_NOT_ALLOWED', reason: 'rule' } };
    core.backends.tools['work'] = (call) =>
      call.end({ kind: 'result', result: { ...textResult('no'), isError: true, _meta } });
    await execute(session, { tool: 'denied' });
    const asked = execute(session, { tool: 'asked' });
    await pass(core, 1500);
    await asked;
    await execute(session);
    await pass(core);
    const ends = (await lines(core)).filter(({ kind, event }) => kind === 'call' && event === 'ended');
    expect(ends).toMatchObject([
      { tool: 'denied', isError: true, reason: 'not sent: a rule denies it' },
      { tool: 'asked', isError: true, reason: 'not sent: it was not approved' },
      { tool: 'work', isError: true },
    ]);
    expect(ends[2]).not.toHaveProperty('reason');
  });

  test('G-5: a short call is one line, written a moment later', async () => {
    const core = await started();
    const session = await hubSession(core.gateway, 'ann');
    core.backends.tools['work'] = (call) => call.answer('done');
    const at = core.clock.now();
    await execute(session, { args: { n: 1, a: 'secret' }, program: 'editor' });
    expect(await lines(core)).toEqual([]);
    await pass(core);
    expect(await lines(core)).toEqual([
      {
        v: 1,
        seq: 1,
        gateway: expect.any(String),
        n: 1,
        at,
        kind: 'call',
        event: 'ended',
        principal: 'ann',
        program: 'editor',
        sessionId: session.id,
        view: 'hub',
        callId: expect.any(String),
        server: 'one',
        tool: 'work',
        startedAt: at,
        outcome: 'completed',
        contentHash: hashOf({ a: 'secret', n: 1 }),
        contentBytes: expect.any(Number),
      },
    ]);
    expect(JSON.stringify(await lines(core))).not.toContain('secret');
  });

  test('G-5: a longer call has one line for its start and one for its end', async () => {
    const core = await started();
    const session = await directSession(core.gateway);
    const at = core.clock.now();
    const reply = execute(session, { args: { n: 1 } });
    await pass(core);
    expect(await lines(core)).toMatchObject([
      { n: 1, kind: 'call', event: 'began', at, tool: 'work', program: 'client' },
    ]);
    await pass(core, 500);
    core.backends.last.last.fail('the disk of Ann is full', -32_050);
    await reply;
    await pass(core);
    const [began, ended] = await lines(core);
    expect(ended).toMatchObject({ n: 2, event: 'ended', outcome: 'failed', errorCode: -32_050, startedAt: at });
    expect(ended).toMatchObject({ callId: (began as { callId: string }).callId, view: 'direct' });
    // Words of servers may quote contents.
    expect(ended).not.toHaveProperty('reason');
    expect(await lines(core)).toHaveLength(2);
  });

  test('G-5: tasks, cancelled calls and tool errors are recorded with their outcome', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    const done = await startTask(session);
    core.backends.last.last.end({ kind: 'result', result: { ...textResult('oh'), isError: true } });
    const cancelled = await startTask(session);
    session.calls.cancel(cancelled, 'not needed');
    const expired = await startTask(session);
    core.clock.advance(300_000);
    await turn();
    await pass(core);
    const ends = (await lines(core)).filter(({ event }) => event === 'ended') as { taskId?: string }[];
    expect(Object.fromEntries(ends.map((line) => [line.taskId, line]))).toMatchObject({
      [done]: { outcome: 'completed', isError: true },
      [cancelled]: { outcome: 'cancelled', reason: 'not needed' },
      [expired]: { outcome: 'expired', errorCode: -32_001 },
    });
    const begins = (await lines(core)).filter(({ event }) => event === 'began');
    expect(begins).toMatchObject([{ taskId: done }, { taskId: cancelled }, { taskId: expired }]);
  });

  test('G-5: contents are kept without secrets or left out, as configured', async () => {
    const args = { file: 'a.txt', password: 'hunter2' };
    const kept = await started({ arguments: 'keep' });
    const session = await hubSession(kept.gateway);
    kept.backends.tools['work'] = (call) => call.fail('no such file');
    await execute(session, { args });
    await execute(session, { args: { text: 'x'.repeat(100_000) } });
    await pass(kept);
    const [small, large] = await lines(kept);
    expect(small).toMatchObject({
      content: { file: 'a.txt', password: '***' },
      contentHash: hashOf(args),
      reason: 'no such file',
    });
    expect(large).toMatchObject({ contentHash: hashOf({ text: 'x'.repeat(100_000) }) });
    expect(large).not.toHaveProperty('content');
    const none = await started({ arguments: 'none' });
    none.backends.tools['work'] = (call) => call.answer('done');
    await execute(await hubSession(none.gateway), { args });
    await pass(none);
    expect((await lines(none))[0]).not.toHaveProperty('contentHash');
  });

  test('G-5: long names are shortened', async () => {
    const core = await started();
    core.backends.tools['work'] = (call) => call.answer('done');
    await execute(await hubSession(core.gateway), { program: 'p'.repeat(100_000) });
    await pass(core);
    const [line] = await lines(core);
    expect((line as { program: string }).program.length).toBeLessThan(600);
  });
});

describe('questions', () => {
  test('G-5: a question and its answer are two lines that say who asked, who answered and where', async () => {
    const core = await started();
    const session = await hubSession(core.gateway, 'ann');
    const taskId = await startTask(session);
    const answered = core.backends.last.last.ask(FORM);
    await turn();
    const [question] = session.interactions.list('elicitation');
    core.clock.advance(5000);
    await session.interactions.answer(question?.id ?? '', 'elicitation', ACCEPT, 'console', 'bob');
    await answered;
    await pass(core);
    const [, asked, given] = await lines(core);
    const about = {
      principal: 'ann',
      questionId: question?.id,
      asks: 'elicitation',
      mode: 'form',
      server: 'one',
      tool: 'work',
    };
    expect(asked).toMatchObject({ kind: 'question', event: 'asked', ...about, taskId, contentHash: hashOf(FORM) });
    expect(given).toMatchObject({
      kind: 'answer',
      event: 'given',
      ...about,
      taskId,
      askedAt: asked?.at,
      at: (asked?.at ?? 0) + 5000,
      outcome: 'accepted',
      answeredBy: { principal: 'bob', via: 'console' },
      contentHash: hashOf(ACCEPT),
    });
  });

  test('G-5: declined, refused, expired and withdrawn questions have different outcomes', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    const taskId = await startTask(session);
    const ask = async (): Promise<string> => {
      core.backends.last.last.ask(FORM).catch(() => {});
      await turn();
      return session.interactions.list('elicitation').at(-1)?.id ?? '';
    };
    const declined = await ask();
    await session.interactions.answer(declined, 'elicitation', { action: 'decline' }, 'tools');
    const refused = await ask();
    session.interactions.refuse(refused, { code: -32_600, message: 'not here' }, 'round');
    const expired = await ask();
    core.clock.advance(600_000);
    await turn();
    const withdrawn = await ask();
    session.calls.cancel(taskId, 'enough');
    await turn();
    await pass(core);
    const ends = (await lines(core)).filter((line) => 'questionId' in line && line.event !== 'asked');
    expect(Object.fromEntries(ends.map((line) => [(line as { questionId: string }).questionId, line]))).toMatchObject({
      [declined]: { kind: 'answer', outcome: 'declined', answeredBy: { via: 'tools', principal: 'local' } },
      [refused]: { kind: 'answer', outcome: 'refused', answeredBy: { via: 'client', principal: 'local' } },
      [expired]: { kind: 'question', event: 'ended', outcome: 'expired', reason: 'not answered in time' },
      [withdrawn]: { kind: 'question', event: 'ended', outcome: 'rejected', reason: 'enough' },
    });
    expect((await lines(core)).filter(({ event }) => event === 'asked')).toHaveLength(4);
  });

  test('G-5: an approval question of the gateway is recorded as an approval', async () => {
    const core = await started();
    const about = { id: 's', principal: 'ann', view: 'hub', program: () => 'editor' } as const;
    const listener = auditOf(core).session(about, { get: () => undefined });
    const base = {
      id: 'q',
      sessionId: 's',
      server: 'one',
      kind: 'elicitation',
      params: { message: 'May delete_file run?' },
      createdAt: 1000,
      expiresAt: 2000,
      link: { certainty: 'none' },
      audience: 'anyone',
      approval: { tool: 'delete_file', argumentsHash: 'hash' },
    } as const;
    const open = { ...base, status: 'open' } as const;
    listener.questionChanged(open, false, false);
    listener.questionChanged(open, true, false);
    const settled = { ...base, status: 'accepted', answer: { action: 'accept' } } as const;
    listener.questionEnded(settled, {
      status: 'accepted',
      reason: undefined,
      by: { via: 'console', principal: 'bob' },
    });
    // One that is answered in the moment in which it is asked.
    const other = { ...base, id: 'r', status: 'open' } as const;
    listener.questionEnded(other, { status: 'expired', reason: 'not answered in time', by: undefined });
    await pass(core);
    expect(await lines(core)).toMatchObject([
      { kind: 'approval', event: 'asked', questionId: 'q', program: 'editor' },
      { kind: 'approval', event: 'given', outcome: 'accepted', answeredBy: { principal: 'bob' } },
      { kind: 'approval', event: 'asked', questionId: 'r' },
      { kind: 'approval', event: 'ended', outcome: 'expired' },
    ]);
  });
});

describe('servers and sign-ins', () => {
  test('G-5: changes of servers by clients are recorded with the principal and without secrets', async () => {
    const core = await started();
    const session = await hubSession(core.gateway, 'ann');
    const { servers } = core.gateway;
    await servers.add(session, 'two', { url: 'http://two.test/?key=hunter2' });
    await servers.add(session, 'two', { command: 'tool', args: ['--token', 'hunter2'] });
    await servers.remove(session, 'two');
    await expect(servers.remove(session, 'three')).rejects.toThrow();
    await pass(core);
    expect(await lines(core)).toMatchObject([
      {
        kind: 'server',
        event: 'added',
        principal: 'ann',
        sessionId: session.id,
        server: 'two',
        address: 'http://two.test/?key=***',
      },
      { event: 'replaced', address: 'tool' },
      { event: 'removed', server: 'two' },
    ]);
    expect(await lines(core)).toHaveLength(3);
    expect(JSON.stringify(await lines(core))).not.toContain('hunter2');
  });

  test('G-5: refused tokens are recorded once, and then counted once a minute', async () => {
    const core = await started();
    const audit = auditOf(core);
    audit.signedIn({ place: 'console', principal: 'ann', method: 'token', address: '::1' });
    const from = core.clock.now();
    for (let index = 0; index < 50; index += 1) audit.signInRefused('mcp', '10.0.0.9');
    audit.signInRefused('api', '10.0.0.9');
    await pass(core);
    expect(await lines(core)).toMatchObject([
      { kind: 'sign_in', event: 'accepted', place: 'console', principal: 'ann', method: 'token', address: '::1' },
      { kind: 'sign_in', event: 'refused', place: 'mcp', address: '10.0.0.9' },
      { kind: 'sign_in', event: 'refused', place: 'api' },
    ]);
    await pass(core, 60_000);
    expect((await lines(core)).slice(3)).toMatchObject([{ event: 'refused', place: 'mcp', count: 49, from, to: from }]);
    audit.signInRefused('mcp', '10.0.0.9');
    audit.signInRefused('mcp', '10.0.0.9');
    await core.stop();
    expect((await lines(core)).slice(4)).toMatchObject([{ event: 'refused' }, { event: 'refused', count: 1 }]);
  });

  test('G-5: refusals from many addresses are counted together above a limit', async () => {
    const core = await started();
    const audit = auditOf(core);
    let tried = 0;
    const tryMany = (): void => {
      for (let index = 0; index < 1010; index += 1) {
        audit.signInRefused('mcp', `10.${tried >> 16}.${(tried >> 8) & 255}.${tried & 255}`);
        tried += 1;
      }
    };
    tryMany();
    await pass(core, 300_200);
    const found = (await lines(core)) as { address?: string; count?: number }[];
    expect(found).toHaveLength(101);
    expect(found.filter(({ address }) => address === undefined)).toMatchObject([{ event: 'refused', count: 910 }]);
    for (let minute = 0; minute < 60; minute += 1) {
      tryMany();
      core.clock.advance(60_000);
    }
    await core.stop();
    const all = (await lines(core)) as { count?: number }[];
    // One a minute with an address, and one every five minutes without.
    expect(all.length).toBeLessThan(101 + 70 + 14);
    // None of them is missed.
    expect(all.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(tried);
  });
});

describe('while the store cannot be written', () => {
  test('G-5: lines are buffered and written after the store recovers', async () => {
    const core = await started();
    const session = await hubSession(core.gateway);
    core.backends.tools['work'] = (call) => call.answer('done');
    core.database.audit.failure = new Error('no disk');
    for (let index = 0; index < 100; index += 1) await execute(session);
    await pass(core, 5000);
    expect(core.logged).toContain('audit_write_failed');
    core.database.audit.failure = undefined;
    await pass(core, 30_000);
    expect((await lines(core)).map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(core.logged).toContain('audit_write_recovered');
    expect(core.logged).not.toContain('audit_lines_dropped');
  });

  test('G-5: lines above a limit are dropped, and a line records how many and when', async () => {
    const [clock, store, logged] = [new TestClock(), new MemoryAudit(), new Array<string>()];
    const log = createLog('debug', (line) => logged.push((JSON.parse(line) as { event: string }).event));
    const settings = { keepMs: 1000, bytes: 1_000_000, arguments: 'hash' } as const;
    const audit = new AuditRecorder({ store, settings, gateway: 'g', log, clock, mostWaiting: 100 });
    store.failure = new Error('no disk');
    const add = (): void => audit.signedIn({ place: 'api', principal: 'ann' });
    for (let index = 0; index < 100; index += 1) add();
    await audit.flush();
    const from = clock.now();
    add();
    clock.advance(1000);
    const to = clock.now();
    add();
    add();
    expect(logged).toContain('audit_lines_dropped');
    store.failure = undefined;
    await audit.flush();
    add();
    await audit.close();
    const found = await store.read({ order: 'oldest', limit: 1000 });
    expect(found).toHaveLength(102);
    expect(found.slice(-2)).toMatchObject([
      { kind: 'gap', event: 'dropped', count: 3, from, to, n: 104 },
      { kind: 'sign_in', n: 105 },
    ]);
    expect(logged).toContain('audit_lines_missing');
    expect(clock.armed).toBe(0);
  });

  test('G-5: a line that cannot be written does not block other lines, and counts as a gap', async () => {
    const core = await started();
    const audit = auditOf(core);
    const { store } = audit;
    const append = store.append.bind(store);
    store.append = async (given) => {
      if (given.some((line) => 'address' in line && line.address === 'poison')) throw new Error('refused');
      await append(given);
    };
    for (const address of ['a', 'poison', 'b']) audit.signedIn({ place: 'api', principal: 'ann', address });
    for (let round = 0; round < 20; round += 1) {
      audit.signedIn({ place: 'api', principal: 'ann', address: `later ${round}` });
      await pass(core, 5000);
    }
    const found = await lines(core);
    expect(found.filter(({ kind }) => kind === 'sign_in')).toHaveLength(22);
    expect(found.filter(({ kind }) => kind === 'gap')).toMatchObject([{ count: 1 }]);
  });

  test('G-5: lines that cannot be written before the end of the program are reported in the log', async () => {
    const core = await started();
    auditOf(core).signedIn({ place: 'api', principal: 'ann' });
    core.database.audit.failure = new Error('no disk');
    await core.stop();
    expect(core.logged).toContain('audit_lines_lost');
  });
});

describe('shutdown and retention', () => {
  test('G-5: a graceful stop writes all lines, including the ends of calls; the next run continues the tasks', async () => {
    const first = await started();
    const session = await hubSession(first.gateway);
    void execute(session, { tool: 'plain' });
    const native = await startTask(session);
    await first.backends.last.last.keepAsTask();
    void first.backends.last.last.ask(FORM, { key: 'k', detached: true }).catch(() => {});
    await turn();
    await first.stop();
    const before = await lines(first);
    expect(before).toMatchObject([
      { event: 'began', taskId: native },
      { kind: 'question', event: 'asked', taskId: native },
      { tool: 'plain', event: 'ended', outcome: 'failed' },
    ]);
    const { database, clock } = first;
    const second = await started(true, { database, clock });
    second.backends.last.last.answer('after all');
    await turn();
    await pass(second);
    const { callId } = before[0] as { callId: string };
    expect((await lines(second)).slice(3)).toMatchObject([
      { kind: 'question', event: 'ended', outcome: 'rejected', callId, tool: 'work' },
      { kind: 'call', event: 'ended', callId, taskId: native, outcome: 'completed' },
    ]);
    expect((await lines(second))[3]?.gateway).not.toBe(before[0]?.gateway);
  });

  test('G-5: lines are deleted when they are older than keepMs', async () => {
    const core = await started({ keepMs: 3_600_000 });
    auditOf(core).signedIn({ place: 'api', principal: 'ann' });
    await pass(core);
    core.clock.advance(3_000_000);
    await turn();
    expect(await lines(core)).toHaveLength(1);
    core.clock.advance(700_000);
    await turn();
    expect(await lines(core)).toEqual([]);
  });
});

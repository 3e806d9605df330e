import { describe, expect, test } from 'vitest';
import { coreSettings } from '../../../tests/support/core-settings.ts';
import { MemoryStore } from '../../../tests/support/memory-store.ts';
import { ScriptedBackends, textResult, type ScriptedConnection } from '../../../tests/support/scripted-connection.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import { createLog } from '../../lib/log.ts';
import { Budget } from '../budget.ts';
import { InteractionRouter } from '../interaction/router.ts';
import { LEAVE_RUNNING, type ClientTraits, type Progress } from '../ports/connection.ts';
import { unlimitedQuota } from '../shared-limit.ts';
import { TaskBook } from '../task/book.ts';
import { createTask, hasEnded, type Task, type WorkingTask } from '../task/task.ts';
import { Calls } from './calls.ts';
import { InFlight } from '../../lib/in-flight.ts';
import type { LiveCall } from './live-call.ts';
import type { Caller, CallReply, CallRequest, Leaving, LeavingListener } from './request.ts';

const TIMEOUT_MS = 50_000;
const FORM = { message: 'Which size?', requestedSchema: { type: 'object', properties: { size: { type: 'string' } } } };
const ANSWER = { action: 'accept', content: { size: 'M' } };
const TRAITS: ClientTraits = { principal: 'local', addedBy: 'config file', roots: false, preferences: { uris: [] } };

/** A client that waits for one call, and what it hears. */
class Client implements Caller {
  readonly heard: Progress[] = [];
  readonly #listeners = new Set<LeavingListener>();

  onLeaving(listener: LeavingListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onProgress(progress: Progress): void {
    this.heard.push(progress);
  }

  leave(how: Leaving, words?: string): void {
    for (const listener of this.#listeners) listener(how, words);
  }

  get isHeardNoMore(): boolean {
    return this.#listeners.size === 0;
  }
}

/** The calls of one session to a server that the test plays. */
function setUp({ settings = {}, budget }: { settings?: Record<string, unknown>; budget?: Budget } = {}) {
  const clock = new TestClock();
  const store = new MemoryStore();
  const log = createLog('silent');
  const all = coreSettings(settings);
  const events = { add: () => {} };
  const live = new InFlight<string, LiveCall>();
  const quota = unlimitedQuota();
  const tasks = new TaskBook({ sessionId: 's', store, events, settings: all.tasks, quota, log, clock });
  const interactions = new InteractionRouter({
    sessionId: 's',
    store,
    tasks,
    events,
    announce: 'always',
    settings: all.questions,
    log,
    calls: live,
    clock,
  });
  const parts = { live, tasks, interactions, store, settings: all, log, clock };
  const calls = new Calls({ ...parts, ...(budget && { budget }) });
  const backends = new ScriptedBackends();
  // Of what happens on the connection, only questions concern the calls.
  const server: ScriptedConnection = backends.connect(
    'one',
    { url: 'http://one.test/' },
    {
      connected: () => {},
      lost: () => {},
      notification: () => {},
      log: () => {},
      question: async (question) => interactions.ask('one', question),
    },
    TRAITS,
  );
  const client = new Client();
  const call = (more: Partial<CallRequest> = {}, caller: Caller = client): Promise<CallReply> =>
    calls.execute(server, { server: 'one', tool: 'work', args: {}, timeoutMs: TIMEOUT_MS, ...more }, caller);
  /** A call that became a task because its time was up. */
  const task = async (more: Partial<CallRequest> = {}): Promise<string> => {
    const reply = call({ ...more, timeoutMs: 0 });
    await turn();
    clock.advance(0);
    return idOf(await reply);
  };
  const stored = (id: string): Task | undefined => store.all('task').find((each) => each.id === id);
  return { clock, store, tasks, interactions, calls, backends, server, client, call, task, stored, live };
}

function idOf(reply: CallReply): string {
  if (reply.kind !== 'task') throw new Error(`the reply is no task, but ${JSON.stringify(reply)}`);
  return reply.task.id;
}

describe('a call replies with', () => {
  test('H-3, H-4: the result, if it arrives in time; no task, stored record or timer remains', async () => {
    const { call, server, tasks, store, clock, calls, client } = setUp();
    const reply = call();
    await turn();
    clock.advance(TIMEOUT_MS - 1);
    server.last.answer('done');
    expect(await reply).toEqual({ kind: 'result', result: textResult('done') });
    expect(tasks.list()).toEqual([]);
    expect(store.all('task')).toEqual([]);
    expect(clock.armed).toBe(0);
    expect(calls.size).toBe(0);
    expect(client.isHeardNoMore).toBe(true);
  });

  test('H-3, T-1: a task after the timeout, which the late result completes', async () => {
    const { call, server, tasks, clock } = setUp();
    const reply = call({ args: { n: 1 } });
    await turn();
    clock.advance(TIMEOUT_MS);
    expect(await reply).toMatchObject({
      kind: 'task',
      because: 'timeout',
      task: { status: 'working', args: { n: 1 } },
    });
    const id = idOf(await reply);
    server.last.answer('late');
    await turn();
    expect(tasks.get(id)).toMatchObject({ status: 'completed', result: textResult('late') });
  });

  test('H-3: a task as soon as the call asks a question, before the timeout', async () => {
    const { call, server, tasks, interactions } = setUp();
    const reply = call();
    await turn();
    const answered = server.last.ask(FORM);
    expect(await reply).toMatchObject({ kind: 'task', because: 'question', task: { status: 'input_required' } });
    const [question] = interactions.list('elicitation');
    await interactions.answer(question?.id ?? '', 'elicitation', ANSWER);
    expect(await answered).toEqual(ANSWER);
    expect(tasks.get(idOf(await reply)).status).toBe('working');
  });

  test('H-13: no task for a question that the client answers while it waits', async () => {
    const { call, server, tasks, interactions, client } = setUp();
    const asked: string[] = [];
    const caller: Caller = {
      onLeaving: (listener) => client.onLeaving(listener),
      onProgress: () => {},
      effectOf: () => 'ask',
      responder: ({ id }) => {
        asked.push(id);
        return true;
      },
    };
    const reply = call({}, caller);
    await turn();
    const answered = server.last.ask(FORM);
    await turn();
    expect(asked).toHaveLength(1);
    await interactions.answer(asked[0] ?? '', 'elicitation', ANSWER);
    expect(await answered).toEqual(ANSWER);
    server.last.answer('done');
    expect(await reply).toMatchObject({ kind: 'result' });
    expect(tasks.list()).toEqual([]);
  });

  test('D-3: a task at once if the client asked for one', async () => {
    const { call, server } = setUp();
    const reply = await call({ asTask: true, exposed: true });
    expect(reply).toMatchObject({ kind: 'task', because: 'asked', task: { exposed: true } });
    await turn();
    expect(server.open).toHaveLength(1);
  });

  test('D-4, B-6: a task as soon as the server keeps one, if the caller accepts tasks', async () => {
    const { call, server, client } = setUp();
    const takesTask: Caller = {
      onLeaving: (listener) => client.onLeaving(listener),
      onProgress: () => {},
      takesTask: true,
    };
    const taken = call({}, takesTask);
    const waiting = call();
    await turn();
    for (const each of server.calls) await each.keepAsTask();
    expect(await taken).toMatchObject({ kind: 'task', because: 'server' });
    server.last.answer('done');
    expect(await waiting).toMatchObject({ kind: 'result' });
  });

  test.each([
    [
      { kind: 'unreachable', reason: 'refused' },
      'TOOL_ERR_SERVER_DISCONNECTED',
      "server 'one' cannot be reached: refused",
    ],
    [{ kind: 'lost', reason: 'it exited' }, 'TOOL_ERR_SERVER_DISCONNECTED', 'disconnected during the call: it exited'],
    [{ kind: 'cancelled', reason: 'too busy' }, 'TOOL_ERR_EXECUTION_FAILED', "cancelled 'work': too busy"],
    [{ kind: 'error', error: { code: 7, message: 'no' } }, 'TOOL_ERR_EXECUTION_FAILED', "an error for 'work': no"],
  ] as const)('H-12: an error that describes the outcome: %j', async (outcome, code, message) => {
    const { call, server } = setUp();
    const reply = call();
    await turn();
    server.last.end(outcome);
    expect(await reply).toMatchObject({
      kind: 'failed',
      outcome,
      error: { code, message: expect.stringContaining(message) },
    });
  });

  test('S-2: an error when the server cannot be connected', async () => {
    const { call, backends, server } = setUp();
    backends.unreachable = 'connection refused';
    expect(await call()).toMatchObject({ kind: 'failed', error: { code: 'TOOL_ERR_SERVER_DISCONNECTED' } });
    expect(server.calls).toEqual([]);
  });

  test('X-4: an error when the connection throws an unexpected error', async () => {
    const { call, server, calls } = setUp();
    server.call = async () => Promise.reject(new TypeError('undefined is not a function'));
    expect(await call()).toMatchObject({ kind: 'failed', outcome: { error: { code: -32603 } } });
    expect(calls.size).toBe(0);
  });

  test('X-3: an error in place of a result that is too large, and a shortened message in place of a long one', async () => {
    const { call, server } = setUp({ settings: { limits: { resultBytes: 4096 } } });
    const large = call();
    const wordy = call();
    await turn();
    server.calls[0]?.answer('x'.repeat(5000));
    server.calls[1]?.fail('y'.repeat(100_000));
    expect(await large).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringContaining('limits.resultBytes') },
    });
    const reply = await wordy;
    expect(reply.kind === 'failed' && reply.error.message.length).toBeLessThan(20_000);
  });
});

describe('a client that leaves', () => {
  test('T-4: that stops waiting leaves an abandoned task, which keeps the result', async () => {
    const { call, server, client, tasks } = setUp();
    const reply = call({ exposed: true });
    await turn();
    client.leave('gone');
    expect(await reply).toMatchObject({ kind: 'task', because: 'gone', task: { abandoned: true } });
    // It was never told of the task.
    expect(tasks.get(idOf(await reply)).exposed).toBeUndefined();
    expect(server.last.stoppedFor).toBeUndefined();
    server.last.answer('kept');
    await turn();
    expect(tasks.get(idOf(await reply))).toMatchObject({ status: 'completed', abandoned: true });
  });

  test('T-4, H-6: that cancels stops the work on the server and passes on its reason', async () => {
    const { call, server, client, tasks, clock } = setUp();
    const reply = call();
    await turn();
    client.leave('cancelled', 'the user changed their mind');
    expect(await reply).toEqual({ kind: 'cancelled' });
    expect(server.last.stoppedFor).toMatchObject({ message: 'the user changed their mind' });
    expect(tasks.list()).toEqual([]);
    expect(clock.armed).toBe(0);
  });

  test('T-4: that cancels without a reason stops the work with a default reason', async () => {
    const { call, server, client } = setUp();
    const reply = call();
    await turn();
    client.leave('cancelled');
    await reply;
    expect(server.last.stoppedFor).toMatchObject({ message: 'cancelled by the client' });
  });

  test('T-4: that cancels a call also ends the question of the call', async () => {
    const { call, server, client, interactions } = setUp();
    const asking: Caller = {
      onLeaving: (listener) => client.onLeaving(listener),
      onProgress: () => {},
      effectOf: () => 'ask',
      responder: () => true,
    };
    const reply = call({}, asking);
    await turn();
    const answered = server.last.ask(FORM).catch((error: Error) => error.message);
    await turn();
    client.leave('cancelled', 'enough');
    await reply;
    expect(await answered).toContain('enough');
    expect(interactions.list('elicitation')).toEqual([]);
  });

  test('E-1: that misses a result can take it over as a task', () => {
    const { calls, tasks, clock } = setUp();
    const request = { server: 'one', tool: 'work', args: { n: 1 }, program: 'ide', timeoutMs: 0 };
    const id = calls.keepResult(request, textResult('kept')) ?? '';
    expect(tasks.get(id)).toMatchObject({ status: 'completed', abandoned: true, result: textResult('kept') });
    clock.advance(1000);
    expect(tasks.takeOver({ ...request, endedWithinMs: 500 })).toBeUndefined();
    expect(tasks.takeOver({ ...request, program: 'another', endedWithinMs: 5000 })).toBeUndefined();
    expect(tasks.takeOver({ ...request, endedWithinMs: 5000 })?.id).toBe(id);
    expect(tasks.takeOver({ ...request, endedWithinMs: 5000 })).toBeUndefined();
  });

  test('E-1: gets no task for a result that comes after the end of the session', () => {
    const { calls } = setUp();
    calls.close({ by: 'client', reason: 'over' });
    const request = { server: 'one', tool: 'work', args: {}, timeoutMs: 0 };
    expect(calls.keepResult(request, textResult('late'))).toBeUndefined();
  });

  test('T-4: counts as waiting for the same call only after a while, and until the call is answered', async () => {
    const { call, calls, clock, server } = setUp();
    const same = { server: 'one', tool: 'work', args: { n: 1 }, program: 'ide' };
    const reply = call(same);
    await turn();
    clock.advance(999);
    expect(calls.isWaitedFor(same, 1000)).toBe(false);
    clock.advance(1);
    expect(calls.isWaitedFor(same, 1000)).toBe(true);
    expect(calls.isWaitedFor({ ...same, program: 'another' }, 1000)).toBe(false);
    expect(calls.isWaitedFor({ ...same, args: { n: 2 } }, 1000)).toBe(false);
    expect(calls.isWaitedFor({ ...same, tool: 'other' }, 1000)).toBe(false);
    server.last.answer('done');
    await reply;
    expect(calls.isWaitedFor(same, 1000)).toBe(false);
  });
});

describe('progress', () => {
  test('T-7: goes to the client while it waits, and then to the task', async () => {
    const { call, server, client, clock, tasks, calls } = setUp();
    const reply = call();
    await turn();
    server.last.progress(1, 3, 'first');
    clock.advance(TIMEOUT_MS);
    const id = idOf(await reply);
    const heard: Progress[] = [];
    const stop = calls.onProgress(id, (progress) => heard.push(progress));
    server.last.progress(2, 3);
    expect(tasks.get(id).statusMessage).toBe('2/3');
    server.last.progress(3, undefined, 'nearly done');
    expect(tasks.get(id).statusMessage).toBe('nearly done');
    stop();
    server.last.progress(4);
    expect(tasks.get(id).statusMessage).toBe('4');
    expect(client.heard).toEqual([{ progress: 1, total: 3, message: 'first' }]);
    expect(heard.map(({ progress }) => progress)).toEqual([2, 3]);
  });

  test('T-7, B-6: includes the status message of a native task when it changes', async () => {
    const { server, task, calls, tasks } = setUp();
    const id = await task();
    const heard: unknown[] = [];
    calls.onProgress(id, ({ message }) => heard.push(message));
    await server.last.keepAsTask({ statusMessage: 'queued' });
    await server.last.keepAsTask({ statusMessage: 'queued' });
    await server.last.keepAsTask({ statusMessage: 'running' });
    expect(heard).toEqual(['queued', 'running']);
    expect(tasks.get(id)).toMatchObject({ native: true, statusMessage: 'running' });
  });

  test('X-3: with a long message is shortened', async () => {
    const { server, task, tasks } = setUp();
    const id = await task();
    server.last.progress(1, 2, 'z'.repeat(100_000));
    expect(tasks.get(id).statusMessage?.length).toBeLessThan(20_000);
  });
});

describe('a task', () => {
  test('H-6: is cancelled once, together with the call on the server', async () => {
    const { task, calls, server } = setUp();
    const id = await task();
    expect(calls.cancel(id, 'not needed')).toMatchObject({ status: 'cancelled', statusMessage: 'not needed' });
    expect(server.last.stoppedFor).toMatchObject({ message: 'not needed' });
    expect(calls.cancel(id, 'again')).toBeUndefined();
    await turn();
    expect(calls.size).toBe(0);
  });

  test('T-2: cancels the call on the server when it expires', async () => {
    const { task, server, clock, tasks } = setUp();
    const id = await task({ ttlMs: 60_000 });
    clock.advance(60_000);
    expect(tasks.get(id).status).toBe('expired');
    expect(server.last.stoppedFor).toMatchObject({ message: 'the task expired' });
  });

  test('T-3: does not expire while its question is open', async () => {
    const { call, server, clock, tasks, interactions } = setUp();
    const reply = call({ ttlMs: 60_000 });
    await turn();
    const answered = server.last.ask(FORM);
    const id = idOf(await reply);
    clock.advance(300_000);
    expect(tasks.get(id).status).toBe('input_required');
    const [question] = interactions.list('elicitation');
    await interactions.answer(question?.id ?? '', 'elicitation', ANSWER);
    await answered;
    clock.advance(59_999);
    expect(tasks.get(id).status).toBe('working');
    clock.advance(1);
    expect(tasks.get(id).status).toBe('expired');
  });

  test.each([
    [
      { kind: 'error', error: { code: 7, message: 'no', data: [1] } },
      { status: 'failed', error: { code: 7, data: [1] } },
    ],
    [
      { kind: 'cancelled', reason: 'too busy' },
      { status: 'cancelled', statusMessage: 'by the server: too busy' },
    ],
    [
      { kind: 'lost', reason: 'it exited' },
      { status: 'failed', error: { message: 'it exited' } },
    ],
    [
      { kind: 'unreachable', reason: 'refused' },
      { status: 'failed', error: { message: 'refused' } },
    ],
    [
      { kind: 'result', result: { isError: true, content: [] } },
      { status: 'completed', result: { isError: true } },
    ],
  ] as const)('T-5: ends like its call: %j', async (outcome, expected) => {
    const { task, server, tasks } = setUp();
    const id = await task();
    server.last.end(outcome);
    await turn();
    expect(tasks.get(id)).toMatchObject(expected);
  });

  test('P-2: is stored as unsent until the call may reach the server', async () => {
    const { backends, call, clock, stored, tasks } = setUp();
    let open = (): void => {};
    backends.gate = new Promise((resolve) => {
      open = resolve;
    });
    const reply = call();
    clock.advance(TIMEOUT_MS);
    const id = idOf(await reply);
    expect(stored(id)).toMatchObject({ unsent: true });
    open();
    await turn();
    expect(stored(id)).not.toHaveProperty('unsent');
    expect(tasks.get(id)).not.toHaveProperty('unsent');
  });

  test('P-3: is sent to the server only after the store has recorded that it is sent', async () => {
    const { backends, call, clock, server, store } = setUp();
    let open = (): void => {};
    backends.gate = new Promise((resolve) => {
      open = resolve;
    });
    const reply = call();
    clock.advance(TIMEOUT_MS);
    await reply;
    const held = store.hold();
    open();
    await turn();
    expect(server.calls).toEqual([]);
    held.release();
    await turn();
    expect(server.calls).toHaveLength(1);
  });

  test('P-1: continues even if its state cannot be stored', async () => {
    const { server, task, store, tasks } = setUp();
    const id = await task();
    store.hold().fail(new Error('the disk is full'));
    await server.last.keepAsTask();
    server.last.answer('done');
    await turn();
    expect(tasks.get(id).status).toBe('completed');
  });
});

describe('the server', () => {
  test('B-3: whose connection is lost fails the tasks that need it, and the number of them is returned', async () => {
    const { calls, server, task, tasks } = setUp();
    const plain = await task();
    const native = await task();
    await server.last.keepAsTask();
    const elsewhere = tasks.create({ server: 'two', tool: 'work', args: {} }).id;
    expect(calls.serverLost('one', 'it crashed')).toBe(1);
    expect(tasks.get(plain)).toMatchObject({ status: 'failed', error: { message: 'it crashed' } });
    expect(tasks.get(native).status).toBe('working');
    expect(tasks.get(elsewhere).status).toBe('working');
  });

  test('B-3: whose connection is lost does not fail a call that is sending answers', async () => {
    const { calls, server, task, tasks } = setUp();
    const id = await task();
    await server.last.continuesFrom({ version: 1, round: 1 });
    await server.last.continuesFrom(undefined);
    expect(calls.serverLost('one', 'it crashed')).toBe(0);
    expect(tasks.get(id).status).toBe('working');
  });

  test('S-3: that is removed ends all its calls with an error, not with a cancellation', async () => {
    const { calls, call, server, task, tasks } = setUp();
    const id = await task();
    const reply = call();
    await turn();
    calls.serverRemoved('one', "server 'one' was removed");
    const error = { code: 'TOOL_ERR_SERVER_DISCONNECTED', message: "server 'one' was removed" };
    expect(await reply).toMatchObject({ kind: 'failed', error });
    expect(tasks.get(id)).toMatchObject({ status: 'failed', error: { message: "server 'one' was removed" } });
    expect(server.open).toEqual([]);
  });
});

describe('the end of the session', () => {
  test('S-4: by the gateway leaves native tasks running and fails the other tasks with the reason', async () => {
    const { backends, calls, call, clock, server, task, tasks, stored } = setUp();
    const native = await task();
    await server.last.keepAsTask();
    const plain = await task();
    const waiting = call();
    await turn();
    const [nativeCall, plainCall] = server.calls;
    backends.gate = new Promise(() => {});
    server.status = { state: 'idle' };
    const unsent = call({ timeoutMs: 0 });
    clock.advance(0);
    const unsentId = idOf(await unsent);
    expect(calls.close({ by: 'gateway', reason: 'the gateway is shutting down' })).toEqual(new Set(['one']));
    expect(await waiting).toMatchObject({ kind: 'failed', error: { code: 'TOOL_ERR_SHUTTING_DOWN' } });
    await turn();
    expect(nativeCall?.stoppedFor).toBe(LEAVE_RUNNING);
    expect(plainCall?.stoppedFor).toMatchObject({ message: 'the gateway is shutting down' });
    expect(stored(native)).toMatchObject({ status: 'working', checkpoint: { version: 1, task: { taskId: 'native' } } });
    const lost = (words: string) => ({
      status: 'failed',
      error: { message: expect.stringContaining(words) as unknown },
    });
    expect(tasks.get(plain)).toMatchObject(lost('its result did not arrive'));
    expect(tasks.get(unsentId)).toMatchObject(lost('had not been sent to the server'));
  });

  test('P-2: keeps a result that arrives while the gateway stops', async () => {
    const { calls, server, task, tasks } = setUp();
    const id = await task();
    await server.last.keepAsTask();
    server.last.whenLeft = { kind: 'result', result: textResult('just in time') };
    calls.close({ by: 'gateway', reason: 'stopping' });
    await turn();
    expect(tasks.get(id).status).toBe('completed');
  });

  test('S-4: by the client cancels everything', async () => {
    const { calls, call, server, task, tasks } = setUp();
    const id = await task();
    await server.last.keepAsTask();
    const waiting = call();
    await turn();
    expect(calls.close({ by: 'client', reason: 'the client left' })).toEqual(new Set());
    expect(await waiting).toEqual({ kind: 'cancelled' });
    expect(tasks.get(id)).toMatchObject({ status: 'cancelled', statusMessage: 'the client left' });
    await turn();
    expect(server.open).toEqual([]);
  });
});

describe('after a restart', () => {
  const left = (more: Partial<WorkingTask>): WorkingTask => ({
    ...createTask({ id: 't', sessionId: 's', server: 'one', tool: 'work', args: { n: 1 }, ttlMs: 60_000 }, 1_000_000),
    ...more,
  });

  test('P-2: a task continues from its checkpoint', async () => {
    const { calls, server, tasks } = setUp();
    const task = left({ checkpoint: { version: 1, task: { taskId: 'native' } } });
    tasks.restore([task]);
    calls.resume(task, () => server);
    await turn();
    expect(server.last).toMatchObject({ resumedFrom: task.checkpoint, outgoing: { tool: 'work', args: { n: 1 } } });
    expect(calls.idOf('t')).toBe(server.last.outgoing.id);
    server.last.answer('after all');
    await turn();
    expect(tasks.get('t')).toMatchObject({ status: 'completed', result: textResult('after all') });
  });

  test.each([
    [{}, 'its result did not arrive'],
    [{ unsent: true }, 'had not been sent to the server; call the tool again'],
  ])('P-2: a task without a checkpoint fails with a reason: %j', (more, words) => {
    const { calls, server, tasks } = setUp();
    const task = left(more);
    tasks.restore([task]);
    calls.resume(task, () => server);
    expect(tasks.get('t')).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining(words) as unknown },
    });
    expect(calls.size).toBe(0);
  });

  test('P-2: a task whose server is not configured any more fails', () => {
    const { calls, tasks } = setUp();
    const task = left({ checkpoint: { version: 1, task: { taskId: 'native' } } });
    tasks.restore([task]);
    calls.resume(task, () => {
      throw new Error("no server 'one'");
    });
    expect(tasks.get('t')).toMatchObject({
      status: 'failed',
      error: { message: "gateway restarted: no server 'one'" },
    });
  });
});

describe('limits', () => {
  test('X-3: a call whose arguments exceed the memory limit is refused, and ended calls free memory', async () => {
    const budget = new Budget(2000, 'limits.sessionBytes');
    const { call, server, calls } = setUp({ budget });
    const first = call({ args: { text: 'x'.repeat(1500) } });
    await turn();
    expect(budget.used).toBeGreaterThan(1500);
    await expect(call({ args: { text: 'x'.repeat(1500) } })).rejects.toMatchObject({
      code: 'TOOL_ERR_LIMIT',
      message: expect.stringContaining('limits.sessionBytes') as unknown,
    });
    expect(calls.size).toBe(1);
    server.last.answer('done');
    await first;
    expect(budget.used).toBe(0);
  });

  test('T-2: a call is refused at the limit of working tasks, and an ended task frees a place', async () => {
    const { call, task, server, tasks } = setUp({ settings: { tasks: { perSession: 1 } } });
    const id = await task();
    await expect(call()).rejects.toMatchObject({ code: 'TOOL_ERR_LIMIT' });
    server.last.answer('done');
    await turn();
    expect(hasEnded(tasks.get(id))).toBe(true);
    const reply = call();
    await turn();
    server.last.answer('room again');
    expect(await reply).toMatchObject({ kind: 'result' });
  });
});

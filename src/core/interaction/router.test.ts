import { expect, test } from 'vitest';
import { MemoryStore } from '../../../tests/support/memory-store.ts';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { createLog } from '../../lib/log.ts';
import { Budget } from '../budget.ts';
import { InFlight } from '../../lib/in-flight.ts';
import type { LiveCall } from '../call/live-call.ts';
import type { IncomingQuestion } from '../ports/connection.ts';
import { unlimitedQuota } from '../shared-limit.ts';
import { TaskBook } from '../task/book.ts';
import { InteractionRouter, type RouterParts } from './router.ts';

const TIMEOUT_MS = 60_000;
const HOUR_MS = 3_600_000;
const PARAMS = { message: 'Which size?' };
const ANSWER = { action: 'accept', content: { size: 'M' } };

type Told = { type: string; server: string } & Record<string, unknown>;

/** A router with everything around it in memory. */
function setUp(parts: Partial<RouterParts> = {}) {
  const clock = new TestClock();
  const store = new MemoryStore();
  const log = createLog('silent');
  const told: Told[] = [];
  const events: RouterParts['events'] = { add: (type, server, data) => void told.push({ type, server, ...data }) };
  const settings = { ttlMs: HOUR_MS, maxTtlMs: HOUR_MS, keepMs: HOUR_MS, cleanupMs: HOUR_MS, perSession: 9, max: 9 };
  const tasks = new TaskBook({ sessionId: 's', store, events, settings, quota: unlimitedQuota(), log, clock });
  const calls = new InFlight<string, LiveCall>();
  const questions = { timeoutMs: TIMEOUT_MS, perSession: 3, via: 'tools', minDeclineMs: 0 } as const;
  const create = (): InteractionRouter =>
    new InteractionRouter({
      sessionId: 's',
      store,
      tasks,
      calls,
      events,
      announce: 'always',
      settings: questions,
      log,
      clock,
      ...parts,
    });
  const router = create();
  const withdraw = new AbortController();
  const ask = (more: Partial<IncomingQuestion> = {}, by = router): Promise<unknown> =>
    by
      .ask('one', { kind: 'elicitation', params: PARAMS, withdrawn: withdraw.signal, ...more })
      .catch((error: Error) => error.message);
  const task = (): string => tasks.create({ server: 'one', tool: 'order', args: {} }).id;
  return { router, create, clock, store, told, tasks, calls, ask, task, withdraw };
}

const only = (router: InteractionRouter): string => {
  const [interaction, ...more] = router.list('elicitation');
  if (interaction === undefined || more.length > 0) throw new Error(`${more.length} questions`);
  return interaction.id;
};

test('T-3, H-9: a question blocks its task until it is answered, and the server gets the answer', async () => {
  const { router, tasks, clock, ask, task } = setUp();
  const taskId = task();
  const answered = ask({ taskId });
  expect(tasks.get(taskId)).toMatchObject({ status: 'input_required', remainingMs: HOUR_MS });
  clock.advance(1000);
  await router.answer(only(router), 'elicitation', ANSWER);
  expect(await answered).toEqual(ANSWER);
  expect(tasks.get(taskId)).toMatchObject({ status: 'working', deadline: clock.now() + HOUR_MS });
});

test('T-3: a task with two questions continues when the second one ends', async () => {
  const { router, tasks, ask, task } = setUp();
  const taskId = task();
  void ask({ taskId });
  void ask({ taskId });
  const [first, second] = router.of({ taskId });
  router.refuse(first?.id ?? '', { code: 1, message: 'no' });
  expect(tasks.get(taskId).status).toBe('input_required');
  router.refuse(second?.id ?? '', { code: 1, message: 'no' });
  expect(tasks.get(taskId).status).toBe('working');
});

test('H-9: an invalid answer is refused with a reason, and the question stays open', async () => {
  const { router, ask, told } = setUp();
  router.serverUsed('one');
  void ask({ params: { ...PARAMS, requestedSchema: { type: 'object', properties: {}, required: ['size'] } } });
  const id = only(router);
  await expect(router.answer(id, 'elicitation', { action: 'accept', content: {} })).rejects.toMatchObject({
    code: 'TOOL_ERR_INVALID_ANSWER',
  });
  await expect(router.answer(id, 'elicitation', { action: 'maybe' })).rejects.toThrow(/accept, decline or cancel/);
  expect(router.find(id)?.status).toBe('open');
  expect(told.map(({ type }) => type)).toEqual(['elicitation_request']);
});

test('H-9: the server gets an answer after the store attempt, even if the disk is full', async () => {
  const { router, store, ask, task } = setUp();
  const outcomes: unknown[] = [];
  void ask({ taskId: task() }).then((outcome) => outcomes.push(outcome));
  const held = store.hold();
  const answering = router.answer(only(router), 'elicitation', ANSWER);
  await Promise.resolve();
  expect(outcomes).toEqual([]);
  held.fail(new Error('disk full'));
  await answering;
  await expect.poll(() => outcomes).toEqual([ANSWER]);
});

test('K-2, K-4: with a shared store, the server gets an answer only after it is stored', async () => {
  const { router, store, ask, task } = setUp();
  const outcomes: unknown[] = [];
  void ask({ taskId: task() }).then((outcome) => outcomes.push(outcome));
  const held = store.hold();
  const recorded = store.shared();
  const answering = router.answer(only(router), 'elicitation', ANSWER);
  held.fail(new Error('no connection'));
  await expect(answering).rejects.toMatchObject({ code: 'TOOL_ERR_STORE' });
  expect(outcomes).toEqual([]);
  recorded.release();
  await expect.poll(() => outcomes).toEqual([ANSWER]);
});

test('K-2: the answer of a gateway that has lost the session is not delivered', async () => {
  const { router, store, ask, task } = setUp();
  const outcomes: unknown[] = [];
  void ask({ taskId: task() }).then((outcome) => outcomes.push(outcome));
  const held = store.hold();
  const recorded = store.shared();
  const answering = router.answer(only(router), 'elicitation', ANSWER);
  held.fail(new Error('another gateway has the session'));
  recorded.fail(new Error('another gateway has the session'));
  await expect(answering).rejects.toMatchObject({ code: 'TOOL_ERR_STORE' });
  await expect.poll(() => router.size).toBe(0);
  expect(outcomes).toEqual([]);
});

test('K-5: a question whose answer is being stored when the gateway stops is not withdrawn', async () => {
  const { router, store, ask, task, withdraw } = setUp();
  const taskId = task();
  void ask({ taskId, key: 'size' });
  const held = store.hold();
  const answering = router.answer(only(router), 'elicitation', ANSWER);
  router.close('the gateway is shutting down', (each) => each === taskId);
  // The connection is closed.
  withdraw.abort();
  held.release();
  expect(await answering).toMatchObject({ status: 'accepted' });
  expect(store.all('question')).toMatchObject([{ status: 'accepted' }]);
});

test('H-9: if a question ends while its answer is being stored, the answer is refused with the reason', async () => {
  const { router, store, ask, task } = setUp();
  const taskId = task();
  const asked = ask({ taskId, key: 'size' });
  const held = store.hold();
  const answering = router.answer(only(router), 'elicitation', ANSWER);
  router.rejectWhere(() => true, 'cancelled by the client');
  held.release();
  await expect(answering).rejects.toThrow(/no longer pending: cancelled by the client/);
  expect(await asked).toMatch(/cancelled by the client/);
  expect(store.all('question')).toEqual([]);
});

test('T-3: a question expires after its timeout, and an event reports that', async () => {
  const { router, clock, ask, told, task, tasks } = setUp();
  const taskId = task();
  const asked = ask({ taskId });
  clock.advance(TIMEOUT_MS - 1);
  expect(router.size).toBe(1);
  clock.advance(1);
  expect(await asked).toMatch(/not answered in time/);
  expect(told.at(-1)).toMatchObject({ type: 'elicitation_expired', server: 'one' });
  expect(tasks.get(taskId).status).toBe('working');
  expect(router.size).toBe(0);
});

test('H-3: a question without a call is shown only to a client that used the server recently', () => {
  const { router, clock, ask, told } = setUp();
  void ask();
  expect(router.list('elicitation')).toEqual([]);
  expect(told).toEqual([]);
  router.serverUsed('one');
  expect(router.list('elicitation')).toHaveLength(1);
  clock.advance(HOUR_MS);
  void ask();
  expect(router.list('elicitation')).toEqual([]);
});

test('D-2: the responder of the call comes before that of the task, and both before any other responder', () => {
  const { router, ask, task } = setUp();
  const taskId = task();
  const taken: string[] = [];
  const responder =
    (name: string, takes = true) =>
    (): boolean => {
      if (takes) taken.push(name);
      return takes;
    };
  router.register('any', responder('any'));
  const leave = router.register({ taskId }, responder('task'));
  router.register({ callId: 'c' }, responder('call', false));
  void ask({ callId: 'c', taskId });
  expect(taken).toEqual(['task']);
  leave();
  expect(taken).toEqual(['task', 'any']);
});

test('D-2: a responder gets an abort signal with the reason of the server when a question is withdrawn', async () => {
  const { router, ask, withdraw } = setUp();
  let over: AbortSignal | undefined;
  router.register('any', (_interaction, signal) => {
    over = signal;
    return true;
  });
  const asked = ask();
  withdraw.abort('the order was cancelled');
  expect(over?.reason).toBe('the order was cancelled');
  expect(await asked).toMatch(/withdrawn by the server/);
});

test('D-7: if the client is asked itself, events report only unclaimed questions', () => {
  const { router, ask, told } = setUp({ announce: 'unclaimed' });
  router.serverUsed('one');
  const leave = router.register('any', () => true);
  void ask();
  expect(told).toEqual([]);
  leave();
  expect(told.map(({ type }) => type)).toEqual(['elicitation_request']);
  router.rejectWhere(() => true, 'gone');
  expect(told.map(({ type }) => type)).toEqual(['elicitation_request', 'elicitation_expired']);
});

test('P-2: after a restart a server that asks again under the same key gets the same question and its answer', async () => {
  const { router, create, store, ask, task } = setUp();
  const taskId = task();
  void ask({ taskId, key: 'size' });
  const id = only(router);
  const open = create();
  open.restore(store.all('question'), () => true);
  const again = ask({ taskId, key: 'size' }, open);
  expect(only(open)).toBe(id);
  const taken = new AbortController();
  await open.answer(id, 'elicitation', ANSWER);
  expect(await again).toEqual(ANSWER);
  // The server did not get it: it asks once more, after another restart.
  const answered = create();
  answered.restore(store.all('question'), () => true);
  expect(await ask({ taskId, key: 'size', taken: taken.signal }, answered)).toEqual(ANSWER);
  expect(store.all('question')).toHaveLength(1);
  taken.abort();
  expect(store.all('question')).toEqual([]);
});

test('P-2: if a server asks again while the answer is being stored, it gets that answer', async () => {
  const { router, create, store, ask, task } = setUp();
  const taskId = task();
  void ask({ taskId, key: 'size' });
  const id = only(router);
  const restarted = create();
  restarted.restore(store.all('question'), () => true);
  const held = store.hold();
  const answering = restarted.answer(id, 'elicitation', ANSWER);
  const again = ask({ taskId, key: 'size' }, restarted);
  expect(restarted.size).toBe(0);
  held.release();
  await answering;
  expect(await again).toEqual(ANSWER);
});

test('P-2: a question that cannot continue after a restart ends, and its event has the reason', () => {
  const { router, create, store, ask, task, told } = setUp();
  void ask({ taskId: task(), key: 'size' });
  const restarted = create();
  restarted.restore(store.all('question'), () => false, { announced: true });
  expect(restarted.size).toBe(0);
  expect(told.at(-1)).toMatchObject({ type: 'elicitation_expired', reason: 'gateway restarted' });
  expect(router.size).toBe(1);
});

test('P-2, T-3: after a restart no task waits for an ended question', () => {
  const { create, store, tasks, task } = setUp();
  const [first, second] = [task(), task()];
  const calls = [
    { callId: 'a', taskId: first },
    { callId: 'b', taskId: second },
  ];
  for (const id of [first, second]) tasks.apply(id, { type: 'blocked', by: 'possible' });
  store.put('question', {
    id: 'q',
    sessionId: 's',
    server: 'one',
    kind: 'elicitation',
    params: PARAMS,
    status: 'open',
    createdAt: 0,
    expiresAt: HOUR_MS * 1000,
    link: { certainty: 'possible', calls, others: false },
    audience: 'anyone',
  });
  create().restore(store.all('question'), () => true);
  for (const id of [first, second]) {
    expect(tasks.get(id)).toMatchObject({ status: 'working', deadline: expect.any(Number) });
    expect(tasks.get(id)).not.toHaveProperty('remainingMs');
  }
});

test('P-2, H-3: after a restart the end of a hidden question is not announced', () => {
  const { create, store, ask, told } = setUp();
  void ask();
  create().restore(store.all('question'), () => false, { announced: true });
  expect(told).toEqual([]);
});

test('D-4: when the request that hosts a question ends, another request hosts it', () => {
  const { router, ask } = setUp({ needsHost: () => true });
  const remove = router.addHost({ id: 'read', server: 'one', tellsRoots: false });
  void ask();
  router.addHost({ id: 'other', server: 'one', tellsRoots: false });
  expect(router.of({ callId: 'read' })).toHaveLength(1);
  remove({ aborted: true });
  expect(router.of({ callId: 'read' })).toEqual([]);
  expect(router.of({ callId: 'other' })).toHaveLength(1);
});

test('X-3: questions beyond the limits of size, number and memory are refused, and ended questions free memory', async () => {
  const budget = new Budget(200, 'limits.sessionBytes');
  const { router, ask, task } = setUp({ budget, questionBytes: 100 });
  const taskId = task();
  expect(await ask({ taskId, params: { message: 'x'.repeat(200) } })).toMatch(/limits.questionBytes = 100/);
  for (let count = 0; count < 3; count += 1) void ask({ taskId });
  expect(await ask({ taskId })).toMatch(/questions.perSession = 3/);
  const left = budget.left;
  router.rejectWhere(() => true, 'gone');
  expect(budget.left).toBeGreaterThan(left);
  expect(budget.left).toBe(200);
});

test('X-3: a closed router leaves no timers', () => {
  const { router, clock, ask } = setUp();
  void ask();
  router.close('the client left', () => false);
  expect(clock.armed).toBe(0);
  expect(router.size).toBe(0);
});

test('D-7: the router reports when the first question opens and when the last one ends', async () => {
  const heard: boolean[] = [];
  const { router, ask, task } = setUp({ onOccupied: (occupied) => void heard.push(occupied) });
  const first = ask({ taskId: task() });
  const second = ask({ taskId: task() });
  expect(heard).toEqual([true]);
  for (const { id } of router.list('elicitation')) await router.answer(id, 'elicitation', ANSWER);
  await Promise.all([first, second]);
  expect(heard).toEqual([true, false]);
});

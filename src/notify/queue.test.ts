import { createServer } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { describe, expect, it } from 'vitest';
import type { NotedQuestion } from '../core/notify/notifier.ts';
import type { ClusterStore } from '../core/ports/cluster-store.ts';
import type { ClaimedNotice, QueuedNotice } from '../core/ports/outbox.ts';
import type { EndedTask } from '../core/task/task.ts';
import { createLog } from '../lib/log.ts';
import { droppedLately } from '../core/notify/dropped.ts';
import { MemoryDatabase } from '../../tests/support/memory-database.ts';
import { defer } from '../../tests/support/owned.ts';
import { portToReturnTo } from '../../tests/support/port-to-return-to.ts';
import { question as storedQuestion, session } from '../../tests/support/records.ts';
import { Receiver, type Received } from '../../tests/support/receiver.ts';
import { TestClock } from '../../tests/support/test-clock.ts';
import { Dispatcher } from './dispatcher.ts';
import { QueueingNotifier, type NotifiedQuestions } from './notifier.ts';
import { Plan } from './plan.ts';
import { Sender } from './sender.ts';
import type { NotifySettings, TargetSettings } from './settings.ts';
import { TaskWebhooks } from './task-webhooks.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** 12:00 in Greenwich. */
const NOON = Date.UTC(2026, 0, 5, 12);

type TargetInput = Partial<TargetSettings> & { at?: Receiver };

interface World {
  clock?: TestClock;
  database?: MemoryDatabase;
  shared?: boolean;
  most?: number;
  notify?: Partial<Omit<NotifySettings, 'targets'>>;
}

function targetFrom({ at, ...more }: TargetInput): TargetSettings {
  return {
    type: 'webhook',
    url: at?.url,
    secret: 'a secret of sixteen',
    timeoutMs: 10_000,
    events: ['question'],
    afterMs: 0,
    include: [],
    answerLinks: false,
    ...more,
  };
}

/** A gateway's part in notifications, with a clock that the test moves. The test owns it. */
function startNotifications(targets: Record<string, TargetInput>, world: World = {}) {
  const { clock = new TestClock(NOON), database = new MemoryDatabase(), shared = false, notify = {} } = world;
  const settings: NotifySettings = {
    targets: Object.fromEntries(Object.entries(targets).map(([name, target]) => [name, targetFrom(target)])),
    expiringMs: 2 * MINUTE,
    serverDownMs: MINUTE,
    giveUpMs: 24 * HOUR,
    ...notify,
  };
  const store = database.open({ shared });
  const logged: { event: string; data: Record<string, unknown> }[] = [];
  const log = createLog('debug', (line) => logged.push(JSON.parse(line) as (typeof logged)[number]));
  const outcomes: string[] = [];
  const observed = {
    observer: {
      notificationSent: (target: string, outcome: string, count = 1) =>
        outcomes.push(`${target} ${outcome}${count === 1 ? '' : ` ${count}`}`),
    } as never,
  };
  const webhooks = settings.taskWebhooks && new TaskWebhooks(settings.taskWebhooks.allow);
  const plan = new Plan(settings);
  const sender = new Sender({ settings, store, clock, base: () => 'https://gw.test', webhooks });
  const open: NotifiedQuestions = new Map();
  const isOpen = (id: string): boolean => open.has(id);
  const { most } = world;
  const dispatcher = new Dispatcher({
    store,
    sender,
    plan,
    settings,
    clock,
    log,
    observed,
    isOpen,
    ...(most !== undefined && { most }),
  });
  const { outbox } = store;
  const counters = store;
  const notifier = new QueueingNotifier({ outbox, open, plan, dispatcher, webhooks, counters, clock, log, observed });
  notifier.start();
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (!stopped) await notifier.close();
    stopped = true;
  };
  defer(stop);
  /** Everything is written, and nothing more is due. */
  const settled = async (): Promise<void> => {
    await notifier.written();
    await dispatcher.idle();
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settled();
  };
  return { notifier, clock, database, store, plan, logged, outcomes, settled, pass, stop };
}

/** Where nothing listens yet. */
async function unusedPort(): Promise<number> {
  for (;;) {
    const port = portToReturnTo();
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** A mail server that adds what it gets to `mails`. */
async function mailServer(port: number, mails: string[]): Promise<void> {
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onData: (stream, _session, callback) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      stream.on('end', () => {
        mails.push(text);
        callback();
      });
    },
  });
  defer(
    async () =>
      new Promise<void>((resolve) => {
        server.close(resolve);
      }),
  );
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
}

const question = (id: string, more: Partial<NotedQuestion> = {}): NotedQuestion => ({
  id,
  kind: 'elicitation',
  mode: 'form',
  server: 'bank',
  tool: 'pay',
  principal: 'ann',
  sessionId: 's1',
  createdAt: NOON,
  expiresAt: NOON + 10 * MINUTE,
  message: 'Pay 5 €?',
  args: { amount: 5, password: 'hunter2' },
  ...more,
});

const task = (id: string, more: Partial<EndedTask> = {}): EndedTask =>
  ({
    id,
    sessionId: 's1',
    server: 'bank',
    tool: 'pay',
    args: {},
    status: 'completed',
    result: {},
    createdAt: NOON,
    updatedAt: NOON,
    ttlMs: MINUTE,
    keepUntil: NOON + 5 * MINUTE,
    callId: 'c1',
    ...more,
  }) as EndedTask;

const types = (received: readonly Received[]): string[] => received.map(({ body }) => String(body['type']));
const ids = (received: readonly Received[]): unknown[] => received.map(({ headers }) => headers['webhook-id']);

describe('content and time of notifications', () => {
  it('N-1, N-2: notifications about a question are sent once, without its message and arguments', async () => {
    const at = await Receiver.start();
    const { notifier, settled, pass, outcomes, store } = startNotifications({ hook: { at } });
    notifier.questionOpen(question('q1'));
    notifier.questionOpen(question('q1'));
    await settled();
    await pass(HOUR);
    expect(types(at.received)).toEqual(['question.opened']);
    expect(at.received[0]?.text).not.toMatch(/Pay 5|hunter2|amount|s1/);
    expect(at.received[0]?.body['data']).toMatchObject({
      server: 'bank',
      tool: 'pay',
      link: 'https://gw.test/console#/q/q1',
    });
    expect(outcomes).toEqual(['hook delivered']);
    expect(await store.outbox.list(10)).toEqual([]);
  });

  it('N-2: message and arguments are included if configured, with secrets hidden', async () => {
    const at = await Receiver.start();
    const { notifier, settled } = startNotifications({ hook: { at, include: ['message', 'arguments'] } });
    notifier.questionOpen(question('q1'));
    await settled();
    expect(at.received[0]?.body['data']).toMatchObject({
      message: 'Pay 5 €?',
      arguments: { amount: 5, password: '***' },
    });
    expect(at.received[0]?.text).not.toContain('hunter2');
  });

  it('N-1: a target gets only its events, and only of its principals, servers and tools', async () => {
    const [all, some] = [await Receiver.start(), await Receiver.start()];
    const { notifier, settled, pass } = startNotifications({
      all: { at: all, events: ['question', 'expiring', 'task', 'server'] },
      some: { at: some, principals: ['a*'], servers: ['bank', 'shop'], tools: ['pay*'] },
    });
    notifier.questionOpen(question('q1'));
    notifier.questionOpen(question('q2', { principal: 'bob' }));
    notifier.questionOpen(question('q3', { server: 'mail' }));
    notifier.questionOpen(question('q4', { tool: 'list' }));
    notifier.questionOpen(question('q5', { tool: undefined }));
    notifier.taskEnded({
      task: task('t1', { status: 'failed', error: { code: 1, message: 'secret' } } as never),
      principal: 'ann',
    });
    notifier.serverLost('bank', 'ann', 'gone');
    await settled();
    expect(some.received.map(({ body }) => (body['data'] as { questionId: string }).questionId)).toEqual(['q1']);
    expect(types(all.received).toSorted()).toEqual([
      ...Array.from({ length: 5 }, () => 'question.opened'),
      'task.ended',
    ]);
    expect(all.received.find(({ body }) => body['type'] === 'task.ended')?.body['data']).toEqual({
      principal: 'ann',
      server: 'bank',
      tool: 'pay',
      taskId: 't1',
      status: 'failed',
      link: 'https://gw.test/console#/c/c1',
    });
    // Its tool becomes known later.
    notifier.questionOpen(question('q5'));
    await settled();
    expect(some.received).toHaveLength(2);
    await pass(8 * MINUTE);
    expect(types(all.received).slice(6).toSorted()).toEqual([
      ...Array.from({ length: 5 }, () => 'question.expiring'),
      'server.down',
    ]);
  });

  it('N-1: a question that is answered before afterMs is not notified', async () => {
    const at = await Receiver.start();
    const { notifier, pass, store } = startNotifications({
      hook: { at, afterMs: 2 * MINUTE, events: ['question', 'expiring'] },
    });
    notifier.questionOpen(question('q1'));
    notifier.questionOpen(question('q2'));
    await pass(MINUTE);
    notifier.questionEnded('q1');
    await pass(MINUTE);
    expect(at.received.map(({ body }) => body['data'])).toMatchObject([{ questionId: 'q2' }]);
    notifier.questionEnded('q2');
    await pass(HOUR);
    expect(at.received).toHaveLength(1);
    expect(await store.outbox.list(10)).toEqual([]);
    // In the same turn.
    notifier.questionOpen(question('q3'));
    notifier.questionEnded('q3');
    await pass(HOUR);
    expect(at.received).toHaveLength(1);
  });

  it('N-1: a question that is still open shortly before it expires is notified again', async () => {
    const at = await Receiver.start();
    const { notifier, pass } = startNotifications({ hook: { at, events: ['question', 'expiring'] } });
    notifier.questionOpen(question('q1'));
    // It is told of later than that it is about to expire.
    notifier.questionOpen(question('q2', { expiresAt: NOON + MINUTE }));
    await pass(0);
    await pass(7.9 * MINUTE);
    expect(types(at.received)).toEqual(['question.opened', 'question.opened']);
    await pass(0.1 * MINUTE);
    expect(types(at.received).slice(2)).toEqual(['question.expiring']);
    expect(new Set(ids(at.received)).size).toBe(3);
  });

  it('N-1: messages and retries wait during quiet hours', async () => {
    const at = await Receiver.start();
    const quietHours = { from: '22:00', to: '07:00', timeZone: 'UTC' };
    const clock = new TestClock(NOON + 9 * HOUR + 59 * MINUTE);
    const { notifier, settled, pass } = startNotifications({ hook: { at, quietHours, events: ['task'] } }, { clock });
    at.replies = [500];
    notifier.taskEnded({ task: task('t1', { updatedAt: clock.now() }), principal: 'ann' });
    await settled();
    expect(at.received).toHaveLength(1);
    await pass(10_000);
    await pass(2 * MINUTE);
    notifier.taskEnded({ task: task('t2', { updatedAt: clock.now() }), principal: 'ann' });
    // The first one was tried again before ten, and arrived.
    await settled();
    await pass(8 * HOUR + 50 * MINUTE);
    expect(at.received).toHaveLength(2);
    await pass(10 * MINUTE);
    expect(at.received.map(({ body }) => (body['data'] as { taskId: string }).taskId)).toEqual(['t1', 't1', 't2']);
  });

  it('N-1: a question that would end during quiet hours is not notified', async () => {
    const at = await Receiver.start();
    const quietHours = { from: '11:00', to: '13:00', timeZone: 'UTC' };
    const { notifier, pass, store } = startNotifications({ hook: { at, quietHours } });
    notifier.questionOpen(question('q1'));
    await pass(0);
    expect(await store.outbox.list(10)).toEqual([]);
    await pass(2 * HOUR);
    expect(at.received).toEqual([]);
  });

  it('N-1: messages escalate to another target if nobody answers or the first target fails', async () => {
    const [phone, pager] = [await Receiver.start(), await Receiver.start()];
    const { notifier, settled, pass } = startNotifications({
      phone: { at: phone, events: ['question', 'task'], escalate: { to: 'pager', afterMs: 5 * MINUTE } },
      pager: { at: pager, events: [] },
    });
    notifier.questionOpen(question('q1'));
    notifier.questionOpen(question('q2'));
    await pass(4 * MINUTE);
    expect([phone.received.length, pager.received.length]).toEqual([2, 0]);
    notifier.questionEnded('q2');
    await pass(MINUTE);
    expect(pager.received.map(({ body }) => body['data'])).toMatchObject([{ questionId: 'q1' }]);
    phone.always = 410;
    notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await settled();
    await expect.poll(() => types(pager.received)).toEqual(['question.opened', 'task.ended']);
  });

  it('N-1: an escalated message respects the filters and the include list of the second target', async () => {
    const [phone, pager] = [await Receiver.start(), await Receiver.start()];
    const { notifier, settled, pass, outcomes } = startNotifications({
      phone: {
        at: phone,
        events: ['question', 'task'],
        include: ['message', 'arguments'],
        escalate: { to: 'pager', afterMs: MINUTE },
      },
      pager: { at: pager, events: [], include: ['message'], principals: ['ann'], servers: ['bank'], tools: ['pay'] },
    });
    const others = [{ principal: 'bob' }, { server: 'mail' }, { tool: 'list' }];
    notifier.questionOpen(question('q1'));
    for (const [index, other] of others.entries()) notifier.questionOpen(question(`other${index}`, other));
    await settled();
    await pass(MINUTE);
    expect(phone.received).toHaveLength(4);
    expect(pager.received.map(({ body }) => body['data'])).toMatchObject([{ questionId: 'q1' }]);
    phone.always = 410;
    const failed = { status: 'failed', error: { code: 1, message: 'no money' }, args: { amount: 5 } } as never;
    notifier.taskEnded({ task: task('t1', failed), principal: 'ann' });
    notifier.taskEnded({ task: task('t2', failed), principal: 'bob' });
    await expect.poll(() => outcomes.filter((outcome) => outcome === 'phone given_up').length).toBe(2);
    await settled();
    await expect.poll(() => pager.received.length).toBe(2);
    const { data } = pager.received[1]?.body ?? {};
    expect(data).toMatchObject({ taskId: 't1', message: 'no money' });
    expect(data).not.toHaveProperty('arguments');
  });

  it('N-1: a server that is lost again soon after the last notification is notified later', async () => {
    const [at, pager] = [await Receiver.start(), await Receiver.start()];
    const { notifier, pass, settled } = startNotifications({
      hook: { at, events: ['server'], escalate: { to: 'pager', afterMs: 0 } },
      pager: { at: pager, events: ['server'] },
    });
    const lose = async (ms: number): Promise<void> => {
      notifier.serverLost('bank', 'ann', 'gone');
      await settled();
      await pass(ms);
    };
    await lose(MINUTE);
    expect(at.received).toHaveLength(1);
    // A loss that nobody was told of does not delay the next.
    for (let time = 0; time < 2; time += 1) {
      notifier.serverBack('bank', 'ann');
      await lose(MINUTE);
    }
    await pass(7 * MINUTE);
    expect(at.received).toHaveLength(1);
    // It cannot be told of it, and the other one knows it already.
    at.always = 410;
    await pass(MINUTE);
    await expect.poll(() => pager.received.length).toBe(2);
    await pass(HOUR);
    expect([at.received.length, pager.received.length]).toEqual([2, 2]);
  });

  it('N-1: a server that returns in time is not notified, and a server that stays away once for all its sessions', async () => {
    const at = await Receiver.start();
    const { notifier, pass, settled } = startNotifications({ hook: { at, events: ['server'] } });
    notifier.serverLost('bank', 'ann', 'gone');
    await pass(30_000);
    notifier.serverBack('bank', 'ann');
    await pass(HOUR);
    expect(at.received).toEqual([]);
    for (let session = 0; session < 100; session += 1) notifier.serverLost('bank', 'ann', 'gone');
    await pass(MINUTE);
    notifier.serverBack('bank', 'ann');
    notifier.serverLost('bank', 'ann', 'gone');
    await settled();
    await pass(MINUTE);
    expect(types(at.received)).toEqual(['server.down']);
    // Much later it is news again.
    notifier.serverBack('bank', 'ann');
    await pass(HOUR);
    notifier.serverLost('bank', 'ann', 'gone');
    await settled();
    await pass(MINUTE);
    expect(at.received).toHaveLength(2);
  });
});

describe('delivery', () => {
  it('N-1: a failed attempt is repeated with growing pauses and the same ID until it succeeds', async () => {
    const at = await Receiver.start();
    at.replies = [500, 'reset', 302, 503];
    const { notifier, settled, pass, store, outcomes, logged } = startNotifications({ hook: { at, events: ['task'] } });
    notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await settled();
    const [first] = await store.outbox.list(1);
    expect(first).toMatchObject({ attempts: 1, state: 'waiting', error: 'HTTP 500: {}' });
    expect((first?.dueAt ?? 0) - NOON).toBeGreaterThanOrEqual(3750);
    expect((first?.dueAt ?? 0) - NOON).toBeLessThanOrEqual(5000);
    for (const ms of [5000, 10_000, 20_000, 40_000]) await pass(ms);
    expect(at.received).toHaveLength(5);
    expect(new Set(ids(at.received)).size).toBe(1);
    expect(outcomes).toEqual([...Array.from({ length: 4 }, () => 'hook failed'), 'hook delivered']);
    await pass(24 * HOUR);
    expect(at.received).toHaveLength(5);
    const told = logged.filter(({ event }) => event.startsWith('notification')).map(({ event }) => event);
    expect(told).toEqual(['notification_failed', 'notification_delivered', 'notifications_delivered_again']);
  });

  it('N-1: messages survive an outage of one hour, and are given up after a day', async () => {
    const at = await Receiver.start();
    at.always = 503;
    const { notifier, settled, pass, store, outcomes, logged } = startNotifications({ hook: { at, events: ['task'] } });
    notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await settled();
    for (let minute = 0; minute < 60; minute += 5) await pass(5 * MINUTE);
    at.always = 200;
    for (let minute = 0; minute < 15; minute += 5) await pass(5 * MINUTE);
    expect(outcomes.at(-1)).toBe('hook delivered');
    at.always = 500;
    notifier.taskEnded({ task: task('t2'), principal: 'ann' });
    await settled();
    for (let hour = 0; hour < 25 * 4; hour += 1) await pass(15 * MINUTE);
    expect(outcomes.at(-1)).toBe('hook given_up');
    expect(await store.outbox.list(10)).toMatchObject([{ state: 'failed', subject: 'task t2', error: 'HTTP 500: {}' }]);
    expect(logged.filter(({ event }) => event === 'notification_given_up')).toHaveLength(1);
    const attempts = at.received.length;
    await pass(24 * HOUR);
    expect(at.received).toHaveLength(attempts);
  });

  it('N-1, N-3: mail that cannot be sent for an hour is sent once after the mail server is back', async () => {
    const mails: string[] = [];
    const port = await unusedPort();
    const mail = {
      type: 'smtp' as const,
      url: `smtp://127.0.0.1:${port}`,
      from: 'gw@example.com',
      to: ['ann@example.com'],
    };
    const { notifier, settled, pass, store, outcomes, logged } = startNotifications({
      mail: { ...mail, events: ['task'] },
    });
    const ids = ['t1', 't2', 't3', 't4', 't5', 't6'];
    for (const id of ids) notifier.taskEnded({ task: task(id, { tool: `tool-${id}` }), principal: 'ann' });
    await settled();
    for (let minute = 0; minute < 60; minute += 5) await pass(5 * MINUTE);
    expect(mails).toEqual([]);
    expect(await store.outbox.list(10)).toHaveLength(6);
    expect((await store.outbox.list(1))[0]).toMatchObject({
      state: 'waiting',
      error: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect(logged.filter(({ event }) => event === 'notification_failed')).toHaveLength(1);
    await mailServer(port, mails);
    for (let minute = 0; minute < 60; minute += 5) await pass(5 * MINUTE);
    const told = ids.map((id) => mails.filter((text) => text.includes(`tool-${id}`)).length);
    expect(told).toEqual([1, 1, 1, 1, 1, 1]);
    expect(mails).toHaveLength(6);
    expect(outcomes.filter((outcome) => outcome === 'mail delivered')).toHaveLength(6);
    expect(await store.outbox.list(10)).toEqual([]);
    expect(logged.filter(({ event }) => event === 'notifications_delivered_again')).toHaveLength(1);
  });

  it.each([
    ['forwards', 6 * HOUR],
    ['backwards', -6 * HOUR],
  ])('N-3: if the clock is set %s, no message is lost or sent twice', async (_way, ms) => {
    const at = await Receiver.start();
    let accept = (): void => {};
    at.replies = [503, (res) => (accept = () => res.writeHead(200).end())];
    const { notifier, clock, settled, pass, store, outcomes } = startNotifications({ hook: { at, events: ['task'] } });
    notifier.taskEnded({ task: task('failed once'), principal: 'ann' });
    await settled();
    notifier.taskEnded({ task: task('on its way'), principal: 'ann' });
    await expect.poll(() => at.received.length).toBe(2);
    clock.jump(ms);
    // By the new time, the claim of what is on its way may be over.
    notifier.taskEnded({ task: task('after that', { updatedAt: clock.now() }), principal: 'ann' });
    await notifier.written();
    accept();
    await settled();
    // What comes later is sent at once, whatever the time was before.
    expect(outcomes.filter((outcome) => outcome === 'hook delivered').length).toBeGreaterThanOrEqual(2);
    for (let hour = 0; hour < 7; hour += 1) await pass(HOUR);
    const tasks = at.received.map(({ body }) => (body['data'] as { taskId: string }).taskId);
    expect(tasks.toSorted()).toEqual(['after that', 'failed once', 'failed once', 'on its way']);
    expect(outcomes.filter((outcome) => outcome === 'hook delivered')).toHaveLength(3);
    expect(await store.outbox.list(10)).toEqual([]);
  });

  it('N-1: a target that does not respond does not delay other targets', async () => {
    const [slow, fast] = [await Receiver.start(), await Receiver.start()];
    slow.always = 'hang';
    const { notifier, clock, settled } = startNotifications({ slow: { at: slow }, fast: { at: fast } });
    for (let index = 0; index < 10; index += 1) notifier.questionOpen(question(`q${index}`));
    await expect.poll(() => fast.received.length).toBe(10);
    expect(slow.received).toHaveLength(4);
    clock.advance(10_000);
    await expect.poll(() => slow.received.length).toBe(8);
    slow.always = 200;
    clock.advance(10_000);
    await settled();
    expect(slow.received.length).toBeGreaterThanOrEqual(10);
  });

  it('N-1: a target that replies with Retry-After gets the next attempt after that time', async () => {
    const at = await Receiver.start();
    at.replies = [(res) => res.writeHead(429, { 'retry-after': '600' }).end()];
    const { notifier, settled, pass } = startNotifications({ hook: { at, events: ['task'] } });
    notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await settled();
    await pass(9 * MINUTE);
    expect(at.received).toHaveLength(1);
    await pass(MINUTE);
    expect(at.received).toHaveLength(2);
  });
});

describe('after a restart', () => {
  it('N-3: pending messages are sent by the next run, and sent messages are not repeated', async () => {
    const at = await Receiver.start();
    const first = startNotifications({ hook: { at, events: ['question', 'task'], afterMs: MINUTE } });
    first.notifier.questionOpen(question('q1'));
    first.notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await first.settled();
    expect(types(at.received)).toEqual(['task.ended']);
    await first.stop();
    const { clock, database } = first;
    clock.advance(2 * MINUTE);
    const second = startNotifications(
      { hook: { at, events: ['question', 'task'], afterMs: MINUTE } },
      { clock, database },
    );
    // The restored session tells of both again.
    second.notifier.questionOpen(question('q1'));
    second.notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await second.settled();
    expect(types(at.received)).toEqual(['task.ended', 'question.opened']);
    await second.pass(HOUR);
    await second.stop();
    const third = startNotifications(
      { hook: { at, events: ['question', 'task'], afterMs: MINUTE } },
      { clock, database },
    );
    third.notifier.questionOpen(question('q1'));
    await third.settled();
    expect(at.received).toHaveLength(2);
  });

  it('N-3: a run that ends during an attempt leaves the message to the next run', async () => {
    const at = await Receiver.start();
    at.replies = ['hang'];
    const first = startNotifications({ hook: { at, events: ['task'] } });
    first.notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await expect.poll(() => at.received.length).toBe(1);
    const stopping = first.stop();
    await expect.poll(() => first.clock.armed).toBeGreaterThan(0);
    for (let turn = 0; turn < 3; turn += 1) first.clock.advance(1000);
    await stopping;
    const second = startNotifications({ hook: { at, events: ['task'] } }, first);
    await second.settled();
    expect(at.received).toHaveLength(2);
    expect(new Set(ids(at.received)).size).toBe(1);
  });

  it('N-3: a question that ended while the gateway was down is not notified', async () => {
    const at = await Receiver.start();
    const first = startNotifications({ hook: { at, afterMs: MINUTE } });
    first.notifier.questionOpen(question('q1'));
    first.notifier.questionOpen(question('q2'));
    await first.settled();
    // Killed: nothing is dropped. There is no history that could tell.
    await first.stop();
    const second = startNotifications({ hook: { at, afterMs: MINUTE } }, first);
    // The restored session tells only of the one that goes on.
    second.notifier.questionOpen(question('q2'));
    await second.settled();
    await second.pass(2 * MINUTE);
    expect(at.received.map(({ body }) => body['data'])).toMatchObject([{ questionId: 'q2' }]);
    expect(await second.store.outbox.list(10)).toEqual([]);
  });

  it('N-3: two gateways send each message once, and one sends the messages of a dead gateway', async () => {
    const at = await Receiver.start();
    const targets = { hook: { at, events: ['question', 'task'] as const } };
    const clock = new TestClock(NOON);
    const database = new MemoryDatabase();
    const [one, two] = [
      startNotifications(targets, { clock, database, shared: true }),
      startNotifications(targets, { clock, database, shared: true }),
    ];
    for (let index = 0; index < 30; index += 1) {
      (index % 2 === 0 ? one : two).notifier.taskEnded({ task: task(`t${index}`), principal: 'ann' });
    }
    // Both tell of it: one has taken the session over.
    one.notifier.questionOpen(question('q1'));
    two.notifier.questionOpen(question('q1'));
    await Promise.all([one.settled(), two.settled()]);
    await expect.poll(() => at.received.length).toBe(31);
    expect(new Set(ids(at.received)).size).toBe(31);
    // A gateway has claimed one, and hangs.
    database.present.add('nobody');
    const left: QueuedNotice = {
      id: 'msg_left',
      target: 'hook',
      subject: 'task t99',
      createdAt: NOON,
      dueAt: NOON,
      attempts: 0,
      giveUpAt: NOON + 24 * HOUR,
      keepUntil: NOON + 48 * HOUR,
      data: JSON.stringify({
        event: 'task',
        at: NOON,
        principal: 'ann',
        server: 'bank',
        task: { id: 't99', status: 'completed' },
      }),
    };
    await database.outbox.add([left]);
    await database.outbox.claim({ target: 'hook', now: NOON, until: NOON + 2 * MINUTE, limit: 1 });
    await one.pass(2 * MINUTE - 1);
    await two.settled();
    expect(at.received).toHaveLength(31);
    await one.pass(1);
    await two.settled();
    expect(ids(at.received).slice(31)).toEqual(['msg_left']);
  });

  /** Another gateway has the session with these questions, and has queued their notifications. */
  async function ofAnother(ids: readonly string[], stored: readonly string[] = ids) {
    const at = await Receiver.start();
    const mine = startNotifications({ hook: { at } }, { shared: true });
    const { database, clock, plan } = mine;
    const another = database.open({ shared: true });
    const claimed = await another.claim('s1');
    const store = (id: string): void => claimed?.put('question', { ...storedQuestion(id, 's1'), id });
    claimed?.put('session', { ...session('s1'), principal: 'ann' });
    for (const id of stored) store(id);
    await another.settled();
    await another.outbox.add(ids.flatMap((id) => plan.question(question(id), clock.now())));
    return { ...mine, at, another, store, cluster: mine.store.cluster as ClusterStore };
  }

  const told = (at: Receiver): unknown[] =>
    at.received.map(({ body }) => (body['data'] as Record<string, unknown>)['questionId']);

  it('N-3: a question at another gateway is notified while it is open there', async () => {
    const { at, pass, another, store } = await ofAnother(['q1', 'q2', 'q3'], ['q1']);
    await pass(5000);
    expect(told(at)).toEqual(['q1']);
    // The notification of one may be there before the question is stored.
    store('q2');
    await another.settled();
    await pass(5000);
    expect(told(at)).toEqual(['q1', 'q2']);
    await pass(HOUR);
    expect(told(at)).toEqual(['q1', 'q2']);
    expect(await another.outbox.list(10)).toEqual([]);
  });

  it('N-3: a question of a dead gateway is notified after its session is taken over', async () => {
    const { at, pass, database, notifier, settled } = await ofAnother(['q1']);
    database.expireClaims();
    await pass(10_000);
    expect(told(at)).toEqual([]);
    notifier.questionOpen(question('q1'));
    await settled();
    await pass(10_000);
    expect(told(at)).toEqual(['q1']);
  });

  it('N-3: a gateway whose claim has nearly expired leaves the message to others', async () => {
    const { at, clock, pass, cluster, outcomes } = await ofAnother(['q1']);
    const ownerOf = cluster.ownerOf.bind(cluster);
    let slowMs = 2 * MINUTE - 9999;
    cluster.ownerOf = async (id) => {
      clock.advance(slowMs);
      slowMs = 0;
      return ownerOf(id);
    };
    await pass(5000);
    expect([at.received, outcomes]).toEqual([[], []]);
    await pass(9999);
    expect(at.received).toHaveLength(1);
    expect(outcomes).toEqual(['hook delivered']);
  });

  it('N-3: a message that a killed run was sending is sent at once by the next run', async () => {
    const at = await Receiver.start();
    const hook = { hook: { at, events: ['task'] as const } };
    const database = new MemoryDatabase();
    const killed = database.open();
    const { plan, stop, clock } = startNotifications(hook, { database: new MemoryDatabase() });
    await stop();
    const noted = ['t1', 't2'].map((id) => ({ task: task(id), principal: 'ann' }));
    await killed.outbox.add(noted.flatMap((each) => plan.task(each, NOON)));
    const claimed = await killed.outbox.claim({ target: 'hook', now: NOON, until: NOON + 2 * MINUTE, limit: 2 });
    const sent = claimed.find(({ subject }) => subject === 'task t2') as ClaimedNotice;
    await killed.outbox.end(sent, { state: 'delivered', at: NOON });
    database.expireClaims();
    const next = startNotifications(hook, { database, clock });
    await expect.poll(() => at.received.length).toBe(1);
    await next.pass(HOUR);
    expect(at.received.map(({ body }) => body['data'])).toMatchObject([{ taskId: 't1' }]);
  });

  it('N-1: the number of messages dropped above the limit is reported', async () => {
    const at = await Receiver.start();
    at.always = 503;
    const { notifier, settled, pass, outcomes, logged, store, clock } = startNotifications(
      { hook: { at, events: ['task'] } },
      { most: 10 },
    );
    for (let index = 0; index < 25; index += 1) notifier.taskEnded({ task: task(`t${index}`), principal: 'ann' });
    await settled();
    await pass(MINUTE);
    expect(await store.outbox.list(100)).toHaveLength(10);
    expect(outcomes).toContain('hook dropped 15');
    const line = logged.find(({ event }) => event === 'notifications_dropped');
    expect(line?.data).toMatchObject({ target: 'hook', count: 15 });
    expect(await droppedLately(store, clock.now())).toBe(15);
    expect(await droppedLately(store, clock.now() + 48 * HOUR)).toBe(0);
  });

  it('N-3: messages are queued and recorded as sent after a failing store recovers', async () => {
    const at = await Receiver.start();
    const { notifier, clock, settled, store, logged, pass } = startNotifications({ hook: { at, events: ['task'] } });
    const { outbox } = store;
    const [add, end] = [outbox.add.bind(outbox), outbox.end.bind(outbox)];
    let broken = true;
    outbox.add = async (notices) => (broken ? Promise.reject(new Error('disk full')) : add(notices));
    outbox.end = async (...given) => (broken ? Promise.reject(new Error('disk full')) : end(...given));
    notifier.taskEnded({ task: task('t1'), principal: 'ann' });
    await expect.poll(() => logged.map(({ event }) => event)).toContain('notifications_not_queued');
    broken = false;
    clock.advance(1000);
    await settled();
    expect(at.received).toHaveLength(1);
    broken = true;
    outbox.add = add;
    notifier.taskEnded({ task: task('t2'), principal: 'ann' });
    await expect.poll(() => logged.map(({ event }) => event)).toContain('notification_state_not_stored');
    broken = false;
    clock.advance(2000);
    await settled();
    await pass(HOUR);
    expect(at.received).toHaveLength(2);
    expect(await outbox.list(10)).toEqual([]);
  });
});

describe('the webhook of a task', () => {
  const taskWebhooks = (...allow: string[]) => ({
    notify: { taskWebhooks: { allow, secret: 'another secret of sixteen' } },
  });

  it('N-4: is called once when the task has ended', async () => {
    const at = await Receiver.start();
    const { notifier, settled } = startNotifications({}, taskWebhooks(`${at.url}/hooks/*`));
    const webhook = notifier.webhook(`${at.url}/hooks/7?x=1#part`);
    expect(webhook).toBe(`${at.url}/hooks/7?x=1`);
    notifier.taskEnded({ task: task('t1', { webhook }), principal: 'ann' });
    notifier.taskEnded({ task: task('t1', { webhook }), principal: 'ann' });
    notifier.taskEnded({ task: task('t2'), principal: 'ann' });
    await settled();
    expect(at.received).toHaveLength(1);
    expect(at.received[0]).toMatchObject({
      path: '/hooks/7?x=1',
      body: { type: 'task.ended', data: { taskId: 't1', status: 'completed', server: 'bank' } },
    });
    expect(at.received[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  });

  it.each([
    ['http://127.0.0.1:1/hooks/x', /calling http:\/\/127\.0\.0\.1:1 is not allowed/],
    ['https://ci.example.com/other', /not allowed/],
    ['https://ci.example.com.evil.test/hooks/x', /not allowed/],
    ['https://evil.test/.any.example.org/x', /not allowed/],
    ['https://user:pass@ci.example.com/hooks/x', /credentials/],
    ['http://10.0.0.1.any.example.org:80@127.0.0.1/', /credentials|not allowed/],
    ['ftp://ci.example.com/hooks/x', /not allowed/],
    ['nonsense', /expected a URL/],
    [{ url: 'https://ci.example.com/hooks/x' }, /expected a URL/],
  ])('N-4: is refused if the URL is not allowed: %s', (url, message) => {
    const { notifier } = startNotifications(
      {},
      taskWebhooks('https://ci.example.com/hooks/*', 'https://*.any.example.org/*'),
    );
    expect(() => notifier.webhook(url)).toThrow(message);
    expect(notifier.webhook('https://CI.example.com:443/hooks/a/b')).toBe('https://ci.example.com/hooks/a/b');
    expect(notifier.webhook('https://x.any.example.org/')).toBe('https://x.any.example.org/');
  });

  it('N-4: does not reach private addresses through a wildcard', async () => {
    const at = await Receiver.start();
    const { port } = new URL(at.url);
    const { notifier, settled, outcomes } = startNotifications({}, taskWebhooks('http://*/*'));
    expect(() => notifier.webhook(at.url)).toThrow('not allowed');
    expect(() => notifier.webhook(`http://[::ffff:127.0.0.1]:${port}/`)).toThrow('not allowed');
    // A name that leads there.
    const webhook = notifier.webhook(`http://localhost:${port}/`);
    notifier.taskEnded({ task: task('t1', { webhook }), principal: 'ann' });
    await settled();
    expect(at.received).toEqual([]);
    expect(outcomes).toEqual(['(task webhook) given_up']);
  });

  it('N-4: is refused without taskWebhooks', () => {
    const { notifier } = startNotifications({});
    expect(() => notifier.webhook('https://ci.example.com/')).toThrow('meanwhile.notify.taskWebhooks');
  });
});

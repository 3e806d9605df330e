import { describe, expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import { LEAVE_RUNNING, type ServerTask } from '../../core/ports/connection.ts';
import type { ResumePoint } from '../../core/task/task.ts';
import type { TaskOffer } from '../server-task.ts';
import { ServerUnavailable, type Attempt, type CallChannel } from './channel.ts';
import { ErrorResponse, RequestTimeout } from '../peer/errors.ts';
import { followServerTask } from './follow-server-task.ts';
import { RunningCalls } from './running-calls.ts';

type Json = Record<string, unknown>;

const POLL_MS = 1000;
const RESULT = { content: [{ type: 'text', text: 'done' }] };
const OFFER: TaskOffer = { generation: 'extension', list: false, cancel: true };
const away = (): ServerUnavailable => new ServerUnavailable('lost', new Error('it is away'));

const task = (status: string, more: Json = {}): Json => ({
  taskId: 't',
  status,
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttlMs: 60_000,
  pollIntervalMs: POLL_MS,
  ...more,
});

/** A server that keeps one task, and says of it what the test wants. */
function setUp(offered: TaskOffer | 'none' = OFFER) {
  const offer = offered === 'none' ? undefined : offered;
  const clock = new TestClock();
  const sent: string[] = [];
  let answer: (method: string) => Json | Promise<Json> = () => task('working');
  const request = async (method: string): Promise<Json> => {
    sent.push(method);
    return answer(method);
  };
  const channel: CallChannel = {
    attempt: async () => ({ offer, request, clock }) as unknown as Attempt,
    request,
    question: async () => Promise.reject(new Error('nobody answers')),
    respond: async () => {},
    listenForTask: () => {},
    reconnect: { firstMs: 100, factor: 1, maxMs: 100, attempts: 2 },
    pollTimeoutMs: 5000,
    clock,
    closed: false,
    sessionId: undefined,
  };
  const abort = new AbortController();
  const told: ServerTask['status'][] = [];
  const checkpoints: (ResumePoint | undefined)[] = [];
  const calls = new RunningCalls();
  const live = calls.begin({
    id: 'call',
    tool: 'work',
    args: {},
    tasks: 'use',
    signal: abort.signal,
    listener: {
      onProgress: () => {},
      onTask: ({ status }) => void told.push(status),
      onCheckpoint: async (checkpoint) => void checkpoints.push(checkpoint),
    },
  });
  const follow = (first?: Json) => followServerTask(channel, live, { taskId: 't' }, first);
  const says = (next: typeof answer): void => {
    answer = next;
  };
  /** Lets so much time pass, and everything happen that it brings. */
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await turn();
    // Timers for moments that are over already.
    clock.advance(0);
    await turn();
  };
  const polls = (): number => sent.filter((method) => method === 'tasks/get').length;
  return { clock, pass, sent, polls, says, follow, abort, told, checkpoints, calls };
}

describe('polling', () => {
  test('B-6: follows the poll interval of the server until the task ends', async () => {
    const { follow, clock, polls, says, told, checkpoints, pass } = setUp();
    const outcome = follow(task('working'));
    await turn();
    // What the response said need not be asked for.
    expect(polls()).toBe(0);
    expect(checkpoints).toHaveLength(1);
    await pass(POLL_MS - 1);
    expect(polls()).toBe(0);
    await pass(1);
    expect(polls()).toBe(1);
    says(() => task('completed', { result: RESULT }));
    await pass(POLL_MS);
    expect(await outcome).toEqual({ kind: 'result', result: RESULT });
    expect(told).toEqual(['working', 'completed']);
    expect(clock.armed).toBe(0);
  });

  test('B-6: happens at once after a status notification, but not more often than the minimum interval', async () => {
    const { follow, polls, calls, pass } = setUp();
    void follow(task('working'));
    await turn();
    calls.taskChanged({ taskId: 't' });
    await turn();
    await pass(50);
    expect(polls()).toBe(1);
    // A server that tells of a change with each poll.
    for (let news = 0; news < 10; news += 1) {
      calls.taskChanged({ taskId: 't' });
      await turn();
    }
    expect(polls()).toBe(1);
    await pass(50);
    expect(polls()).toBe(2);
  });

  test('X-4: has a minimum and a maximum interval, whatever the server wants', async () => {
    const { follow, polls, says, pass } = setUp();
    says(() => task('working', { pollIntervalMs: 1e12 }));
    void follow(task('working', { pollIntervalMs: 0 }));
    await turn();
    await pass(10);
    await pass(50);
    expect(polls()).toBe(1);
    await pass(300_000);
    expect(polls()).toBe(2);
  });

  test('X-4: ends if the server does not answer three times in a row', async () => {
    const { follow, says, polls, sent } = setUp();
    says((method) => {
      if (method !== 'tasks/get') return {};
      throw new RequestTimeout(1);
    });
    expect(await follow()).toMatchObject({ kind: 'error', error: { message: expect.stringContaining('3 times') } });
    expect(polls()).toBe(3);
    // Nobody would fetch its result.
    expect(sent.at(-1)).toBe('tasks/cancel');
  });
});

describe('a server that is disconnected', () => {
  test('B-3: is polled again after the reconnect, and the task continues', async () => {
    const { follow, clock, says, polls } = setUp();
    says(() => Promise.reject(away()));
    const outcome = follow();
    await turn();
    says(() => task('completed', { result: RESULT }));
    clock.advance(200);
    expect(await outcome).toMatchObject({ kind: 'result' });
    expect(polls()).toBe(2);
  });

  test('B-3: for too long ends the call as lost', async () => {
    const { follow, clock, says, sent } = setUp();
    says(() => Promise.reject(away()));
    const outcome = follow();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await turn();
      clock.advance(200);
    }
    expect(await outcome).toEqual({ kind: 'lost', reason: 'it is away' });
    // The task may still be fetched by others.
    expect(sent).not.toContain('tasks/cancel');
  });

  test('H-6, B-3: gets the cancellation after the reconnect', async () => {
    const { follow, clock, says, sent, abort, pass } = setUp();
    const outcome = follow(task('working'));
    await turn();
    says(() => Promise.reject(away()));
    abort.abort(new Error('enough'));
    expect(await outcome).toMatchObject({ kind: 'error' });
    await turn();
    says(() => ({}));
    const before = sent.length;
    await pass(200);
    expect(sent).toHaveLength(before + 1);
    expect(sent.at(-1)).toBe('tasks/cancel');
    expect(clock.armed).toBe(0);
  });
});

describe('the end of a task', () => {
  test.each([
    [task('failed', { error: { code: 7, message: 'no' } }), { kind: 'error', error: { code: 7, message: 'no' } }],
    [task('cancelled', { statusMessage: 'too busy' }), { kind: 'cancelled', reason: 'too busy' }],
    [task('completed'), { kind: 'error', error: { code: -32000 } }],
  ])('T-5: becomes the outcome of the call: %j', async (end, expected) => {
    const { follow, says } = setUp();
    says(() => end);
    expect(await follow()).toMatchObject(expected);
  });

  test('X-4: is an error if the server does not know the task any more', async () => {
    const { follow, says, sent } = setUp();
    says(() => {
      throw new ErrorResponse(-32602, 'Task not found');
    });
    const message = expect.stringContaining("no longer knows its task 't'") as unknown;
    expect(await follow()).toMatchObject({ kind: 'error', error: { code: -32602, message } });
    expect(sent).not.toContain('tasks/cancel');
  });

  test('X-4: is an error if the response has the ID of another task', async () => {
    const { follow, says, sent } = setUp();
    says(() => ({ ...task('completed', { result: RESULT }), taskId: 'another' }));
    const message = expect.stringContaining("answered a request for the task 't' with 'another'") as unknown;
    expect(await follow()).toMatchObject({ kind: 'error', error: { message } });
    expect(sent).toContain('tasks/cancel');
  });

  test('X-4: is an error if the server does not support tasks', async () => {
    const { follow } = setUp('none');
    const message = 'the server does not support tasks';
    expect(await follow(task('working'))).toMatchObject({ kind: 'error', error: { message } });
  });
});

describe('stopping', () => {
  test('P-2: leaves the task running when the gateway stops', async () => {
    const { follow, abort, sent } = setUp();
    const outcome = follow(task('working'));
    await turn();
    abort.abort(LEAVE_RUNNING);
    await outcome;
    expect(sent).toEqual([]);
  });

  test('H-6: cancels the task if the server supports that', async () => {
    const able = setUp();
    const unable = setUp({ ...OFFER, cancel: false });
    for (const { follow, abort } of [able, unable]) {
      const outcome = follow(task('working'));
      await turn();
      abort.abort(new Error('enough'));
      await outcome;
    }
    expect([able.sent, unable.sent]).toEqual([['tasks/cancel'], []]);
  });
});

import { describe, expect, test } from 'vitest';
import { check } from './checker.ts';
import { History, type Exchange, type LoadCall } from './history.ts';
import type { Seen } from './servers.ts';
import { readReply, type Json } from './told.ts';

/** A history in which everything is as it should be, to be spoilt. */
class Story {
  readonly history = new History();
  readonly seen: Seen = { calls: new Map(), answers: new Map(), followed: new Set() };

  /** Asked and answered. */
  told(tool: string, args: Json, body: Json | string, more: Json[] = [], call?: LoadCall, client = 'one'): Exchange {
    const exchange = this.history.begin({ client, tool, args, ...(call && { call }) });
    const blocks = [body, ...more].map((block) => (typeof block === 'string' ? block : JSON.stringify(block)));
    exchange.received = this.history.moment();
    const isError = typeof body !== 'string' && 'error' in body;
    exchange.told = readReply({ content: blocks.map((text) => ({ type: 'text', text })), isError });
    return exchange;
  }

  kill(): void {
    this.history.fault('kill')();
  }

  violations(): string[] {
    return check(this.history, this.seen).violations;
  }
}

const events = (...list: Json[]): Json => ({ events_since_last_response: list });
const event = (id: string, type: string, data: Json, more: Json = {}): Json => ({
  id,
  type,
  server: 'ext',
  data,
  ...more,
});
const pending = (...elicitations: Json[]): Json => ({ pending_client_action: { elicitations, sampling_requests: [] } });

const CREATED = event('1', 'task_created', { taskId: 'T' });
const COMPLETED = event('2', 'task_completed', { taskId: 'T' });
const task = (status: string, more: Json = {}): Json => ({
  task_id: 'T',
  status,
  server: 'ext',
  tool: 'slow',
  ...more,
});

interface Ending {
  events?: Json[];
  list?: Json[];
  result?: string;
}

/** One task from its beginning to its end. */
function slowTask(story: Story, call: LoadCall = { label: 'L', server: 'ext', tool: 'slow' }): void {
  story.told('execute_tool', {}, { proxy_task: task('working') }, [events(CREATED)], call);
}

function end(
  story: Story,
  { events: told = [COMPLETED], list = [task('completed')], result = 'L' }: Ending = {},
): void {
  story.told('list_tasks', { include_completed: true }, { tasks: list }, [events(...told)]);
  if (list.some(({ status }) => status === 'completed')) story.told('get_task_result', { task_id: 'T' }, result);
}

const failedTask = (message: string): Ending => ({
  events: [event('2', 'task_failed', { taskId: 'T', error: message })],
  list: [task('failed', { error: { message } })],
});

test('P-2: a correct story has no violations', () => {
  const story = new Story();
  slowTask(story);
  story.kill();
  end(story);
  expect(story.violations()).toEqual([]);
});

describe('P-2: tasks', () => {
  const spoilt: [string, (story: Story) => void, RegExp][] = [
    ['a task is missing', (story) => end(story, { list: [] }), /missing in the end/],
    ['a task never ended', (story) => end(story, { events: [], list: [task('working')] }), /has not ended/],
    [
      'a task has two outcomes',
      (story) => end(story, { events: [event('2', 'task_failed', { taskId: 'T' })] }),
      /several outcomes/,
    ],
    ['a task has the result of another call', (story) => end(story, { result: 'M' }), /got M/],
    [
      'a task failed with a restart that did not happen',
      (story) => end(story, failedTask('gateway restarted')),
      /a restart that was not/,
    ],
    ['a task failed with an unknown reason', (story) => end(story, failedTask('no idea')), /another reason/],
    [
      'a task was cancelled without a request',
      (story) => end(story, { events: [event('2', 'task_cancelled', { taskId: 'T' })], list: [task('cancelled')] }),
      /by nobody/,
    ],
    [
      'a cancelled task completed',
      (story) => {
        story.told('cancel_task', { task_id: 'T' }, { success: true });
        end(story);
      },
      /was cancelled, and its client told so/,
    ],
    [
      'an ended task is working again',
      (story) => {
        end(story);
        story.told('get_task', { task_id: 'T' }, { task: task('working') });
      },
      /works again/,
    ],
    [
      'a task has two results',
      (story) => {
        end(story);
        story.told('get_task_result', { task_id: 'T' }, 'M');
      },
      /several results/,
    ],
  ];
  test.each(spoilt)('P-2: reports: %s', (_name, spoil, complaint) => {
    const story = new Story();
    slowTask(story);
    spoil(story);
    expect(story.violations()).toContainEqual(expect.stringMatching(complaint));
  });

  test('B-3: reports a followed native task that failed at a restart', () => {
    const story = new Story();
    slowTask(story);
    story.kill();
    end(story, failedTask('gateway restarted'));
    expect(story.violations()).toEqual([]);
    story.seen.followed.add('ext L');
    expect(story.violations()).toEqual([expect.stringContaining('could have gone on')]);
  });

  test('P-2: reports a call that ran twice', () => {
    const story = new Story();
    slowTask(story);
    end(story);
    story.seen.calls.set('ext L', 2);
    expect(story.violations()).toEqual([expect.stringContaining('was run 2 times')]);
  });

  test('S-1: reports data that another client receives', () => {
    const story = new Story();
    slowTask(story);
    end(story);
    story.told('list_tasks', {}, { tasks: [task('completed')] }, [], undefined, 'two');
    expect(story.violations()).toContainEqual(expect.stringContaining('belongs to one'));
  });
});

describe('E-1: events', () => {
  test('E-1: reports an event that was delivered twice', () => {
    const story = new Story();
    slowTask(story);
    end(story);
    story.kill();
    story.told('list_servers', {}, {}, [events(COMPLETED)]);
    expect(story.violations()).toEqual([expect.stringContaining('event 2 (task_completed) was told twice')]);
  });

  test('E-1: accepts a marked repetition only if the first delivery was uncertain', () => {
    const again = events({ ...COMPLETED, maybeSeen: true });
    const excused = new Story();
    slowTask(excused);
    excused.told('get_task_result', { task_id: 'T' }, 'L', [events(COMPLETED)]);
    excused.kill();
    excused.told('list_tasks', { include_completed: true }, { tasks: [task('completed')] }, [again]);
    expect(excused.violations()).toEqual([]);

    const since = new Story();
    slowTask(since);
    since.told('get_task_result', { task_id: 'T' }, 'L', [events(COMPLETED)]);
    since.told('list_servers', {}, {});
    since.kill();
    since.told('list_tasks', { include_completed: true }, { tasks: [task('completed')] }, [again]);
    expect(since.violations()).toEqual([expect.stringContaining('list_servers was answered since')]);

    const sameRun = new Story();
    slowTask(sameRun);
    sameRun.told('get_task_result', { task_id: 'T' }, 'L', [events(COMPLETED)]);
    sameRun.told('list_tasks', { include_completed: true }, { tasks: [task('completed')] }, [again]);
    expect(sameRun.violations()).toEqual([expect.stringContaining('by the same run')]);
  });

  test('E-1: reports a lost event', () => {
    const story = new Story();
    slowTask(story);
    end(story, { events: [] });
    expect(story.violations()).toEqual([expect.stringContaining('0 events that tell of its end')]);
  });

  test('E-1: reports two events with different IDs for one end', () => {
    const story = new Story();
    slowTask(story);
    end(story, { events: [COMPLETED, event('3', 'task_completed', { taskId: 'T' })] });
    expect(story.violations()).toEqual([expect.stringContaining('2 events that tell of its end')]);
  });

  test('E-1: reports missing notifications of an answered call', () => {
    const story = new Story();
    const call = { label: 'N', server: 'plain', tool: 'notify' };
    story.told('execute_tool', { args: { count: 2 } }, 'sent 2', [], call);
    expect(story.violations()).toEqual([expect.stringContaining('0 notifications were told')]);
    const cutOff = new Story();
    const restored = cutOff.history.fault('partition');
    cutOff.told('execute_tool', { args: { count: 2 } }, 'sent 2', [], call);
    restored();
    expect(cutOff.violations()).toEqual([]);
  });
});

describe('P-3: questions', () => {
  const CALL = { label: 'L', server: 'ext', tool: 'ask' };
  const question = (id: string): Json => ({
    requestId: id,
    server: 'ext',
    message: 'L',
    requestedSchema: { properties: { name: {} } },
    taskId: 'T',
  });
  const REQUESTED = event('0', 'elicitation_request', { requestId: 'Q' });

  function asked(): Story {
    const story = new Story();
    story.told(
      'execute_tool',
      {},
      { proxy_task: task('working') },
      [events(REQUESTED, CREATED), pending(question('Q'))],
      CALL,
    );
    return story;
  }

  function answer(story: Story, name: string): void {
    const args = { request_id: 'Q', action: 'accept', content: { name } };
    story.told('respond_to_elicitation', args, { success: true });
  }

  test('P-3: accepts a question whose answer is in the result', () => {
    const story = asked();
    answer(story, 'A');
    end(story, { result: 'Hello A' });
    expect(story.violations()).toEqual([]);
  });

  const spoilt: [string, (story: Story) => void, RegExp][] = [
    ['the result has another answer', (story) => end(story, { result: 'Hello B' }), /answered with A/],
    [
      'a question took two answers',
      (story) => {
        answer(story, 'B');
        end(story, { result: 'Hello A' });
      },
      /took 2 answers/,
    ],
    [
      'an answered question is asked again',
      (story) => {
        story.told('get_elicitations', {}, {}, [pending(question('Q'))]);
        end(story, { result: 'Hello A' });
      },
      /answered, and asked again/,
    ],
    [
      'an answered question is asked again under another ID',
      (story) => {
        story.told('get_elicitations', {}, {}, [
          pending(question('R')),
          events(event('9', 'elicitation_request', { requestId: 'R' })),
        ]);
        end(story, { result: 'Hello A' });
      },
      /asked again as R/,
    ],
    [
      'an answered question expired',
      (story) => {
        story.told('list_tasks', {}, {}, [events(event('9', 'elicitation_expired', { requestId: 'Q' }))]);
        end(story, { result: 'Hello A' });
      },
      /answered, and expired/,
    ],
    [
      'an answer arrived twice',
      (story) => {
        story.seen.answers.set('A', 2);
        end(story, { result: 'Hello A' });
      },
      /A arrived 2 times/,
    ],
  ];
  test.each(spoilt)('P-3: reports: %s', (_name, spoil, complaint) => {
    const story = asked();
    answer(story, 'A');
    spoil(story);
    expect(story.violations()).toContainEqual(expect.stringMatching(complaint));
  });
});

describe('violations of several gateways', () => {
  test('K-8: reports a call that no gateway served, without a fault', () => {
    const story = new Story();
    const failing = (): void => {
      const exchange = story.history.begin({ client: 'one', tool: 'list_tasks', args: {} });
      exchange.failed = { at: story.history.moment(), why: 'HTTP 503 later' };
    };
    const end = story.history.fault('cut');
    failing();
    end();
    expect(story.violations()).toEqual([]);
    failing();
    expect(story.violations()).toEqual([expect.stringContaining('failed without a reason to: HTTP 503')]);
  });

  test('K-7: reports a call that could not be stored, without a fault of the database', () => {
    const call = { label: 'L', server: 'ext', tool: 'slow' };
    const unstored = { error: { code: 'TOOL_ERR_STORE', details: { task: task('working') } } };
    const story = new Story();
    const end = story.history.fault('database restart');
    story.told('execute_tool', {}, unstored, [], call);
    end();
    expect(story.violations()).toEqual([]);
    story.kill();
    story.told('execute_tool', {}, unstored, [], call);
    expect(story.violations()).toEqual([expect.stringContaining('TOOL_ERR_STORE')]);
  });

  test('K-5: reports a plain call that failed because its gateway stopped gracefully', () => {
    const story = new Story();
    slowTask(story, { label: 'L', server: 'plain', tool: 'slow' });
    story.history.fault('stop')();
    end(story, failedTask('the gateway is shutting down'));
    expect(story.violations()).toEqual([expect.stringContaining('a restart that was not')]);
    story.kill();
    story.told('get_task', { task_id: 'T' }, { task: task('failed') });
    expect(story.violations()).toHaveLength(1);
  });

  test('K-6: reports events whose IDs do not increase', () => {
    const backwards = new Story();
    slowTask(backwards);
    end(backwards, { events: [event('0', 'task_completed', { taskId: 'T' })] });
    expect(backwards.violations()).toEqual([expect.stringContaining('ended with event 0, but began with 1')]);

    const older = new Story();
    older.told('await_activity', {}, {}, [events(event('7', 'server_added', {}))]);
    slowTask(older);
    end(older);
    expect(older.violations()).toContainEqual(expect.stringContaining('has event 1, after 7 had been told'));
  });
});

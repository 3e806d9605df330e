import { describe, expect, test } from 'vitest';
import { createTask, hasEnded, transition, type Task, type TaskEvent } from './task.ts';

const start = (): Task =>
  createTask({ id: 't', sessionId: 's', server: 'one', tool: 'slow', args: {}, ttlMs: 1000 }, 0);

const at = (now: number) => ({ now, keepMs: 500 });

function after(events: [TaskEvent, number][], task = start()): Task {
  return events.reduce((current, [event, now]) => {
    const next = transition(current, event, at(now));
    if (next === undefined) throw new Error(`${event.type} was refused`);
    return next;
  }, task);
}

const ENDINGS: TaskEvent[] = [
  { type: 'complete', result: { content: [] } },
  { type: 'fail', error: { code: -1, message: 'no' } },
  { type: 'cancel', reason: 'why' },
  { type: 'expire' },
];

describe('T-1: the state machine of tasks', () => {
  test('starts as working, with a deadline', () => {
    expect(start()).toMatchObject({ status: 'working', deadline: 1000 });
  });

  test.each(ENDINGS)('T-1: no event changes a task that ended by $type', (ending) => {
    const ended = after([[ending, 10]]);
    expect(hasEnded(ended)).toBe(true);
    expect(ended).toMatchObject({ keepUntil: 510 });
    expect(ended).not.toHaveProperty('deadline');
    for (const event of [...ENDINGS, { type: 'progress', message: 'x' } as const]) {
      expect(transition(ended, event, at(20))).toBeUndefined();
    }
    expect(transition(ended, { type: 'blocked', by: 'certain' }, at(20))).toBeUndefined();
  });

  test('a certain question makes the task input_required until it is closed', () => {
    const asked = after([[{ type: 'blocked', by: 'certain' }, 100]]);
    expect(asked.status).toBe('input_required');
    expect(after([[{ type: 'blocked', by: undefined }, 200]], asked).status).toBe('working');
  });
});

describe('T-3: the deadline is suspended while a question is open', () => {
  test.each(['certain', 'possible'] as const)('T-3: whether the question is certain or possible (%s)', (by) => {
    const asked = after([[{ type: 'blocked', by }, 400]]);
    expect(asked).not.toHaveProperty('deadline');
    expect(asked).toMatchObject({ remainingMs: 600 });
    const answered = after([[{ type: 'blocked', by: undefined }, 99_000]], asked);
    expect(answered).toMatchObject({ deadline: 99_600 });
    expect(answered).not.toHaveProperty('remainingMs');
  });

  test('T-3: until the last question is closed', () => {
    const both = after([
      [{ type: 'blocked', by: 'certain' }, 100],
      [{ type: 'blocked', by: 'certain' }, 200],
    ]);
    const one = after([[{ type: 'blocked', by: 'possible' }, 5000]], both);
    expect(one).toMatchObject({ status: 'working', remainingMs: 900 });
    expect(after([[{ type: 'blocked', by: undefined }, 6000]], one)).toMatchObject({ deadline: 6900 });
  });
});

test('T-5: a failed task keeps the error of the server, and a completed task keeps its result unchanged', () => {
  const error = { code: -32011, message: 'no', data: { why: 1 } };
  expect(after([[{ type: 'fail', error }, 1]])).toMatchObject({ status: 'failed', error });
  const result = { content: [], isError: true };
  expect(after([[{ type: 'complete', result }, 1]])).toMatchObject({ status: 'completed', result });
});

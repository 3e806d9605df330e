import { expect, test } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { createLog } from '../../lib/log.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { Budget } from '../budget.ts';
import { SharedLimit } from '../shared-limit.ts';
import { TaskBook } from './book.ts';

const settings = { ttlMs: 60_000, maxTtlMs: 60_000, keepMs: 60_000, cleanupMs: 60_000, perSession: 2, max: 1000 };

async function taskBook(budget = new Budget(Infinity, 'none')) {
  const log = createLog('silent');
  const store = await openSqliteStore({ path: ':memory:', log });
  const words = { things: 'tasks', state: 'are running', setting: 'tasks.max', fix: 'wait' };
  const quota = new SharedLimit(1000, words, { names: [], reserved: 0 }).quotaFor('local');
  return new TaskBook({
    sessionId: 's',
    store,
    events: { add: () => {} },
    settings,
    quota,
    log,
    budget,
    clock: new TestClock(),
  });
}

const start = { server: 'one', tool: 'slow', args: {} };

test('E-2, T-2: unread results are kept when more calls become tasks, and read results are dropped first', async () => {
  const tasks = await taskBook();
  const ids = Array.from({ length: 5 }, () => tasks.create(start).id);
  for (const id of ids) tasks.apply(id, { type: 'complete', result: { content: [] } });
  const sixth = tasks.create(start);
  expect(tasks.list().map(({ id }) => id)).toEqual([...ids, sixth.id]);
  tasks.markRead(ids[1] ?? '');
  const seventh = tasks.create(start);
  expect(tasks.list().map(({ id }) => id)).toEqual([...ids.filter((_, index) => index !== 1), sixth.id, seventh.id]);
});

test('X-3: a call continues even if there is no memory for its resume point', async () => {
  const budget = new Budget(1, 'limits.sessionBytes');
  const tasks = await taskBook(budget);
  const { id } = tasks.create(start);
  expect(tasks.apply(id, { type: 'checkpoint', checkpoint: { version: 1, taskId: 'x'.repeat(1000) } })).toMatchObject({
    status: 'working',
  });
});

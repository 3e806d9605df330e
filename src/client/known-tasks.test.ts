import { expect, test } from 'vitest';
import { KnownTasks } from './known-tasks.ts';
import type { Task } from './types.ts';

const task = (taskId: string, status: Task['status'] = 'working'): Task => ({
  taskId,
  status,
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  ttl: null,
});

/** Known tasks, and the events that were emitted. */
function known() {
  const told: string[] = [];
  const tasks = new KnownTasks((type, detail) => {
    const about = Array.isArray(detail) ? detail.length : 'taskId' in detail ? detail.taskId : '';
    told.push(`${type} ${about}`);
  });
  return { tasks, told };
}

test('C-1: the client keeps the last known status of each task and emits events for changes', () => {
  const { tasks, told } = known();
  tasks.created(task('a'));
  tasks.changed(task('a', 'input_required'));
  tasks.listed([task('a', 'completed'), task('b')]);
  tasks.note(task('c'));
  expect(told).toEqual(['taskCreated a', 'taskStatusChange a', 'tasksChange 2']);
  expect(tasks.all().map(({ taskId, status }) => `${taskId} ${status}`)).toEqual([
    'a completed',
    'b working',
    'c working',
  ]);
});

test('C-1: a cancellation is reported once', () => {
  const { tasks, told } = known();
  tasks.note(task('a'));
  tasks.cancelled('a');
  tasks.cancelled('a');
  tasks.cancelled('unknown');
  expect(told).toEqual(['taskCancelled a', 'taskCancelled unknown']);
  expect(tasks.all()).toMatchObject([{ taskId: 'a', status: 'cancelled' }]);
});

test('C-1: a task that has ended does not become cancelled', () => {
  const { tasks } = known();
  tasks.note(task('a', 'completed'));
  tasks.cancelled('a');
  expect(tasks.all()).toMatchObject([{ status: 'completed' }]);
});

test('C-1: after the connection is lost only selected tasks stay known, after a disconnect none', () => {
  const { tasks, told } = known();
  for (const id of ['a', 'b']) tasks.note(task(id));
  tasks.forgetUnless((id) => id === 'a');
  expect([tasks.has('a'), tasks.has('b')]).toEqual([true, false]);
  tasks.cancelled('a');
  tasks.clear();
  expect(tasks.all()).toEqual([]);
  tasks.cancelled('a');
  expect(told).toEqual(['taskCancelled a', 'taskCancelled a']);
});

import { expect, test } from 'vitest';
import { soon, tasksOf } from '../../flows/watch.ts';
import { textOf } from '../answered.ts';
import { left, SAME } from './left.ts';
import { FEW, WAYS } from './leavers.ts';

const MARK = 'meanwhile/takenOver';

test.each(WAYS)(
  'T-4: an identical call takes over the abandoned one that still works; the next one runs anew: $how',
  async (way) => {
    const { leaver, ran, hub } = await left(way);
    expect(textOf(await leaver.call('slow', SAME))).toBe('same');
    expect(ran()).toEqual(['same']);
    expect((await tasksOf(hub)).filter(({ status }) => status === 'working')).toEqual([]);
    expect(textOf(await leaver.call('slow', SAME))).toBe('same');
    expect(ran()).toEqual(['same', 'same']);
  },
);

test.each(WAYS)(
  'T-4: an identical call gets the result of the abandoned one; the next one runs anew: $how',
  async (way) => {
    const { leaver, ran, hub } = await left(way);
    await soon(() => tasksOf(hub)).toMatchObject([{ status: 'completed' }]);
    const [task] = await tasksOf(hub);
    const result = await leaver.call('slow', SAME);
    expect(textOf(result)).toBe('same');
    // The client is told that the result is that of an earlier run.
    expect(result['_meta']).toMatchObject({ [MARK]: { taskId: task?.['task_id'], startedAt: task?.['created_at'] } });
    expect(ran()).toEqual(['same']);
    const next = await leaver.call('slow', SAME);
    expect(textOf(next)).toBe('same');
    expect(next['_meta'] ?? {}).not.toHaveProperty(MARK);
    expect(ran()).toEqual(['same', 'same']);
  },
);

test.each(FEW)(
  'T-4: `meanwhile/again` or other arguments start a new run despite an abandoned call: $how',
  async (way) => {
    const { leaver, ran } = await left(way);
    const [again, other] = await Promise.all([
      leaver.call('slow', SAME, { 'meanwhile/again': true }),
      leaver.call('slow', { ...SAME, text: 'other' }),
    ]);
    expect([textOf(again), textOf(other)]).toEqual(['same', 'other']);
    expect(ran().map(String).toSorted()).toEqual(['other', 'same', 'same']);
    // What was left is still there.
    expect(textOf(await leaver.call('slow', SAME))).toBe('same');
    expect(ran()).toHaveLength(3);
  },
);

import { expect, test } from 'vitest';
import { ReplayBuffer } from './replay.ts';

test('E-5: the buffer replays the events after an event ID, of its own stream only', () => {
  const buffer = new ReplayBuffer();
  const [one, two] = [buffer.newStreamId(), buffer.newStreamId()];
  const primed = buffer.add(one, '');
  buffer.add(two, 'other');
  const first = buffer.add(one, 'a');
  buffer.add(one, 'b');
  expect(buffer.after(primed)?.events.map(({ data }) => data)).toEqual(['a', 'b']);
  expect(buffer.after(first)).toMatchObject({ streamId: one, events: [{ data: 'b' }] });
});

test.each(['', 'x', '~', 'x~', 'x~0', 'x~-1', 'x~1.5', 'x~99', `x~${Number.MAX_VALUE}`])(
  'E-5, X-4: replays nothing for the unknown event ID %j',
  (id) => {
    const buffer = new ReplayBuffer();
    buffer.add(buffer.newStreamId(), 'a');
    expect(buffer.after(id)?.events ?? []).toEqual([]);
  },
);

test('X-3: the buffer keeps a limited number of events and characters', () => {
  const buffer = new ReplayBuffer();
  const stream = buffer.newStreamId();
  for (let i = 0; i < 3000; i += 1) buffer.add(stream, 'x');
  expect(buffer.size).toBeLessThanOrEqual(1000);
  for (let i = 0; i < 10; i += 1) buffer.add(stream, 'x'.repeat(1024 * 1024));
  expect(buffer.size).toBeLessThanOrEqual(5);
});

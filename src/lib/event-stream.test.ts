import { expect, test } from 'vitest';
import { EventReader } from './event-stream.ts';

test('W-6: events are read from pieces that end anywhere', () => {
  const text =
    ': here\n\nid: 7\nevent: call\ndata: {"a":\ndata: 1}\n\nevent: x\n\ndata: plain\r\n\r\nid: 8\ndata: half';
  const expected = [
    { id: '7', name: 'call', data: '{"a":\n1}' },
    { id: undefined, name: 'message', data: 'plain' },
  ];
  expect(new EventReader().read(text)).toEqual(expected);
  const reader = new EventReader();
  expect(Array.from(text).flatMap((character) => reader.read(character))).toEqual(expected);
  expect(reader.read('\n\n')).toEqual([{ id: '8', name: 'message', data: 'half' }]);
});

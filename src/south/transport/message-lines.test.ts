import { expect, test } from 'vitest';
import { MessageLines } from './message-lines.ts';

test('B-1: lines come out whole, wherever the pieces were cut', () => {
  const bytes = Buffer.from('{"a":"ü"}\n\n{"b":1}\n{"c"');
  for (let size = 1; size <= bytes.length; size += 1) {
    const lines = new MessageLines(100);
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...lines.append(bytes.subarray(at, at + size)));
    expect(found).toEqual(['{"a":"ü"}', '', '{"b":1}']);
  }
});

test('B-1: a line without end is not collected for ever', () => {
  const lines = new MessageLines(10);
  expect(lines.append(Buffer.from('12345'))).toEqual([]);
  expect(() => lines.append(Buffer.from('678901'))).toThrow('10 bytes');
});

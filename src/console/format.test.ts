import { expect, test } from 'vitest';
import { ago, bytes, duration, plural, roughly } from './format.ts';

test('W-3: durations, ages and sizes have a short format', () => {
  expect([0, 850, 4250, 12_900, 65_000, 12_000_000, 100_000_000].map(duration)).toEqual([
    '0 ms',
    '850 ms',
    '4.2 s',
    '12 s',
    '1 m 05 s',
    '3 h 20 m',
    '1 d 3 h',
  ]);
  expect(duration(-5)).toBe('0 ms');
  expect([5000, 61_000, 7_200_000, 200_000_000].map(roughly)).toEqual(['5 s', '1 m', '2 h', '2 d']);
  expect([ago(1000, 2000), ago(0, 61_000)]).toEqual(['just now', '1 m ago']);
  expect([512, 2048, 65_536, 10_485_760].map(bytes)).toEqual(['512 bytes', '2.0 KB', '64 KB', '10.0 MB']);
  expect([plural(1, 'call'), plural(2, 'call')]).toEqual(['1 call', '2 calls']);
});

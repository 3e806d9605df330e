import { expect, test } from 'vitest';
import { jsonLine, textLine } from './log-line.ts';

const time = new Date(2026, 0, 2, 9, 5, 7);
const data = {
  server: 'files',
  reason: 'exited\nwith "1"',
  count: 3,
  url: 'http://x/?a=b',
  none: undefined,
  empty: '',
  list: ['a'],
  raw: '\u009Bx',
};

test('O-1: a log entry as text is one line with time, level, event and quoted facts', () => {
  expect(textLine({ level: 'warn', event: 'server_disconnected', time, data }, false)).toBe(
    String.raw`09:05:07 warn  server disconnected  server=files reason="exited\nwith \"1\"" count=3 url="http://x/?a=b" empty="" list=["a"] raw=\u009bx`,
  );
  expect(textLine({ level: 'info', event: 'stopping', time }, false)).toBe('09:05:07 info  stopping');
  expect(textLine({ level: 'error', event: 'stopping', time }, true)).toContain('\u001B[31merror\u001B[39m');
});

test('O-1: a log entry as JSON is the same document with escaped control characters', () => {
  const line = jsonLine({ level: 'warn', event: 'x', time, data });
  expect(line).not.toMatch(/\u009B/);
  const { none: _none, ...shown } = data;
  expect(JSON.parse(line)).toEqual({ level: 'warn', event: 'x', timestamp: time.toISOString(), data: shown });
});

import { expect, test } from 'vitest';
import { progressLine, type Activity } from './progress-line.ts';
import { PLAIN } from './style.ts';
import { displayWidth } from './layout.ts';

const line = (activity: Partial<Activity>, columns = 80, elapsed = 12_000): string =>
  progressLine({ label: 'slow', startedAt: 0, ...activity }, elapsed, columns, PLAIN);

test('C-3: without progress, the line shows a spinner, the tool and the elapsed time', () => {
  expect(line({})).toBe('⠋ slow 12s');
  expect(line({}, 80, 12_100)).toBe('⠙ slow 12s');
  expect(line({ label: 'a\u001B[2Jb' })).toBe('⠋ ab 12s');
});

test('C-3: progress with a total is shown as a bar, and without a total as a number', () => {
  expect(line({ progress: 5, total: 10, message: 'half' })).toBe('⠋ slow 12s ██████████░░░░░░░░░░  50% half');
  expect(line({ progress: 10, total: 10 })).toBe(`⠋ slow 12s ${'█'.repeat(20)} 100%`);
  expect(line({ progress: 1 / 3, message: 'reading' })).toBe('⠋ slow 12s 0.333333 reading');
});

test('C-3: a connection problem is shown in place of the message', () => {
  expect(line({ message: 'reading', trouble: 'reconnecting' })).toBe('⠋ slow 12s reconnecting');
  expect(line({ message: 'reading', trouble: undefined })).toBe('⠋ slow 12s reading');
});

test.each([
  { progress: 20, total: 10 },
  { progress: -1, total: 10 },
  { progress: 1, total: 0 },
  { progress: 1, total: -5 },
  { progress: Infinity, total: 10 },
  { progress: 1e300, total: 1 },
])('C-3: invalid progress %j does not break the bar', (progress) => {
  expect(displayWidth(line({ ...progress, message: 'x' }))).toBeLessThan(60);
});

test('C-3: the progress line is never wider than the terminal', () => {
  const long = { label: 'l'.repeat(200), progress: 1, total: 2, message: '长'.repeat(100) };
  for (const columns of [20, 40, 49, 50, 80, 200]) {
    expect(displayWidth(line(long, columns))).toBeLessThan(columns);
  }
  expect(line({ ...long, label: 'slow' }, 40)).toContain(' 50% 长');
});

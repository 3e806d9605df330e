import { expect, test } from 'vitest';
import { Budget, ShareBudget } from './budget.ts';

test('X-3: bytes taken from a part are taken from the whole, and given back when the part is closed', () => {
  const whole = new Budget(100, 'limits.totalBytes');
  const one = new Budget(60, 'limits.sessionBytes', whole);
  const two = new Budget(60, 'limits.sessionBytes', whole);
  expect(one.take(60)).toBe(true);
  expect(one.take(1)).toBe(false);
  expect(one.shortage(1)).toBe('limits.sessionBytes = 60');
  expect(two.take(41)).toBe(false);
  expect(two.shortage(41)).toBe('limits.totalBytes = 100');
  expect(two.take(40)).toBe(true);
  one.close();
  expect(whole.used).toBe(40);
  // What still comes back from a closed one is not counted twice.
  one.give(60);
  expect(whole.used).toBe(40);
});

test('X-3: two principals that use much memory cannot take the reserved share of a third', () => {
  const common = new Budget(40, 'limits.totalBytes');
  const one = new ShareBudget(20, common);
  const two = new ShareBudget(20, common);
  const three = new ShareBudget(20, common);
  expect(one.take(60)).toBe(true);
  expect(one.take(1)).toBe(false);
  expect(two.take(21)).toBe(false);
  expect(two.take(20)).toBe(true);
  expect(three.take(20)).toBe(true);
  one.give(30);
  expect(two.take(30)).toBe(true);
  expect(two.take(1)).toBe(false);
});

test('X-3: memory that is used beyond the limit does not reduce the share of another principal', () => {
  const common = new Budget(40, 'limits.totalBytes');
  const greedy = new ShareBudget(20, common);
  const other = new ShareBudget(20, common);
  // What is kept in any case, such as restored tasks, may exceed the limit.
  greedy.add(500);
  expect(other.left).toBe(20);
});

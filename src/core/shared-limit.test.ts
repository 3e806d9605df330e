import { expect, test } from 'vitest';
import { SharedLimit, type Quota } from './shared-limit.ts';

const WORDS = { things: 'sessions', state: 'are open', setting: 'sessions.max', fix: 'end one' };

function limit(max: number, names: string[], reserved = 0.5): SharedLimit {
  return new SharedLimit(max, WORDS, { names, reserved });
}

/** Takes as many as it gets. */
function takeAll(quota: Quota): number {
  for (let taken = 0; ; taken += 1) {
    try {
      quota.assertRoom();
    } catch {
      return taken;
    }
    quota.take();
  }
}

test('X-3: one principal alone can use the whole limit', () => {
  expect(takeAll(limit(10, []).quotaFor('local'))).toBe(10);
  expect(takeAll(limit(10, ['ada']).quotaFor('ada'))).toBe(10);
});

test('X-3: each principal gets its share, however much the others take', () => {
  const shared = limit(100, ['ada', 'ben', 'cleo', 'dan']);
  // 12 for each of the four, and 52 for whoever comes first.
  expect(takeAll(shared.quotaFor('ada'))).toBe(64);
  expect(takeAll(shared.quotaFor('ben'))).toBe(12);
  expect(takeAll(shared.quotaFor('cleo'))).toBe(12);
  expect(takeAll(shared.quotaFor('dan'))).toBe(12);
  expect(takeAll(shared.quotaFor('a principal that is not configured'))).toBe(0);
});

test('X-3: released units are available to others, and a closed quota holds no units', () => {
  const shared = limit(8, ['ada', 'ben']);
  const [first, second] = [shared.quotaFor('ada'), shared.quotaFor('ada')];
  expect([takeAll(first), takeAll(second)]).toEqual([6, 0]);
  first.release();
  expect(takeAll(second)).toBe(1);
  first.close();
  first.release();
  expect([takeAll(shared.quotaFor('ben')), takeAll(second)]).toEqual([6, 1]);
});

test('X-3: each principal gets at least one unit if the limit is large enough', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const shared = limit(5, names, 0.1);
  expect(names.map((name) => takeAll(shared.quotaFor(name)))).toEqual([1, 1, 1, 1, 1]);
  const few = limit(2, names);
  expect(names.map((name) => takeAll(few.quotaFor(name)))).toEqual([2, 0, 0, 0, 0]);
  const none = limit(5, names, 0);
  expect(names.map((name) => takeAll(none.quotaFor(name)))).toEqual([5, 0, 0, 0, 0]);
});

test('X-3: the error names the limit', () => {
  const shared = limit(4, ['ada', 'ben']);
  const ada = shared.quotaFor('ada');
  takeAll(ada);
  expect(() => ada.assertRoom()).toThrow(
    "3 sessions of 'ada' are open, and the rest of sessions.max = 4 is reserved for other principals " +
      '(limits.principalShare); end one',
  );
  takeAll(shared.quotaFor('ben'));
  expect(() => ada.assertRoom()).toThrow('4 sessions are open (limit sessions.max = 4); end one');
});

test('K-6: usage of other gateways counts until they report other numbers', () => {
  const shared = limit(8, ['ada', 'ben']);
  const ada = shared.quotaFor('ada');
  ada.take();
  shared.setElsewhere(
    new Map([
      ['ada', 4],
      ['cleo', 1],
    ]),
  );
  expect(shared.usedHere).toEqual({ ada: 1 });
  // Its share of 2 and the 4 of all, of which cleo has one, less the 4 that it has elsewhere and the one here.
  expect(takeAll(ada)).toBe(0);
  expect(() => ada.assertRoom()).toThrow("5 sessions of 'ada' are open");
  expect(takeAll(shared.quotaFor('ben'))).toBe(2);
  shared.setElsewhere(new Map([['ben', 1]]));
  expect(shared.usedHere).toEqual({ ada: 1, ben: 2 });
  expect(takeAll(ada)).toBe(4);
  expect(takeAll(shared.quotaFor('ben'))).toBe(0);
  shared.setElsewhere(new Map());
  expect(takeAll(ada)).toBe(1);
});

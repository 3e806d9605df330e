import { expect, test } from 'vitest';
import { lastWords } from './last-words.ts';

const OF_NODE = `file:///app/order.ts:12
    throw new StoreError(
          ^

StoreError: shop.db: another meanwhile (process 1134) is using this store
    at lockStore (file:///app/lock.ts:30:11)
    at async open (file:///app/store.ts:3:1) {
  code: 'STORE_IN_USE',
  [cause]: SqliteError: database is locked
      at Database.exec (file:///app/db.ts:1:1) {
    code: 'SQLITE_BUSY',
    rawCode: 5
  }
}

Node.js v20.20.2`;

const OF_PYTHON = `Traceback (most recent call last):
  File "/app/server.py", line 3, in <module>
    import missing
ModuleNotFoundError: No module named 'missing'`;

test.each([
  ['a Node program', OF_NODE, 'StoreError: shop.db: another meanwhile (process 1134) is using this store'],
  ['a Python program', OF_PYTHON, "ModuleNotFoundError: No module named 'missing'"],
  [
    'a program with a longer error',
    "Error: Cannot find module 'x'\nRequire stack:\n- /app/a.js\n    at f (a.js:1:1)",
    "Error: Cannot find module 'x' | Require stack: | - /app/a.js",
  ],
  ['a program without a named error', 'starting\n\nAPI_KEY is not set\n}', 'starting | API_KEY is not set'],
  ['a program with many lines', 'a\nb\nc\nd\ne\nf', 'b | c | d | e | f'],
  ['a program without output', '\n  \n', ''],
])('B-4: the last words of %s are its error without the stack trace, or its last lines', (_what, stderr, words) => {
  expect(lastWords(stderr.split('\n'))).toBe(words);
});

test('B-4: long last words are cut: an error keeps its beginning, other text its end', () => {
  const long = 'x'.repeat(2000);
  expect(lastWords([`Error: bad ${long}`])).toMatch(/^Error: bad x{480,490}$/);
  expect(lastWords([`${long}!`])).toMatch(/^x{499}!$/);
});

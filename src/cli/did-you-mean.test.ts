import { expect, test } from 'vitest';
import { didYouMean } from './did-you-mean.ts';

test.each([
  ['ech', ['echo', 'slow'], "; did you mean 'echo'?"],
  ['get_sum', ['get-sum'], "; did you mean 'get-sum'?"],
  ['Files', ['files'], "; did you mean 'files'?"],
  ['report-of-the-day', ['a', 'day'], ''],
  ['get', ['get-structured-content'], ''],
  ['c', ['a', 'b'], ''],
  ['zebra', ['echo', 'slow'], ''],
  ['anything', [], ''],
])('C-3: for the unknown name %j among %j, the suggestion is %j', (name, known, said) => {
  expect(didYouMean(name, known)).toBe(said);
});

import { expect, test } from 'vitest';
import { toolCosts, totalCost } from '../../../scripts/tool-costs.ts';

/** What `npm run tokens` printed when it was last looked at, and a tenth more. */
const BUDGET = { bytes: 11_800, tokens: 2960 };

test('H-11: tools/list stays within its size and token budget', () => {
  const costs = toolCosts();
  expect(costs).toHaveLength(24);
  const { bytes, tokens } = totalCost(costs);
  expect(bytes).toBeLessThan(BUDGET.bytes);
  expect(tokens).toBeLessThan(BUDGET.tokens);
});

test('H-11: no tool uses more than a tenth of the tokens', () => {
  const costs = toolCosts();
  const { tokens } = totalCost(costs);
  expect(costs.filter((each) => each.tokens > tokens / 10)).toEqual([]);
});

/** Prints what `tools/list` costs, the dearest tool first. */

import { toolCosts, totalCost } from './tool-costs.ts';

const costs = toolCosts().toSorted((a, b) => b.bytes - a.bytes);
for (const { name, bytes, tokens } of [...costs, totalCost(costs)]) {
  console.log(`${name.padEnd(24)} ${String(bytes).padStart(6)} bytes ${String(tokens).padStart(6)} tokens`);
}

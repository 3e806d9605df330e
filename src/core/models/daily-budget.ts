/** What models may cost: so many calls and tokens a day for each server, at all gateways on a store together. */

import { isoTime } from '../../lib/clock.ts';
import type { Store } from '../ports.ts';
import type { ModelSettings } from './choose.ts';

const DAY_MS = 86_400_000;

export interface Spending {
  counters: Pick<Store, 'addToCounter'>;
  now: number;
  model: string;
  server: string;
  budget: ModelSettings['budget'];
  /** The most that the answer may take. */
  maxTokens: number;
}

/**
 * Takes a call and the tokens of the longest answer out of the budget before the model is asked: what happens at the same time
 * elsewhere, or a gateway that dies, cannot overdraw it. Throws if there is not enough left. Resolves with a function that
 * replaces the tokens by those that were really used.
 */
export async function spend(spending: Spending): Promise<(tokens: number) => Promise<void>> {
  const { counters, now, model, server, budget, maxTokens } = spending;
  const { callsPerDay, tokensPerDay } = budget;
  const add = async (unit: 'calls' | 'tokens', amount: number): Promise<number> =>
    counters.addToCounter(`model ${unit} ${isoTime(now).slice(0, 10)} ${model} ${server}`, amount, now + 2 * DAY_MS);
  const usedUp = (limit: string): Error =>
    new Error(`its budget for the server '${server}' is used up until midnight UTC (models.${model}.budget.${limit})`);
  if ((await add('calls', 1)) > callsPerDay) throw usedUp(`callsPerDay = ${callsPerDay}`);
  if (tokensPerDay === undefined) return async () => {};
  if ((await add('tokens', maxTokens)) > tokensPerDay) {
    await add('tokens', -maxTokens);
    throw usedUp(`tokensPerDay = ${tokensPerDay}`);
  }
  return async (tokens) => void (await add('tokens', tokens - maxTokens));
}

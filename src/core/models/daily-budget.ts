/** Model budgets: calls and tokens per day and server, across all gateways on a store. */

import { isoTime } from '../../lib/clock.ts';
import type { Store } from '../ports/store.ts';
import type { ModelSettings } from './choose.ts';

const DAY_MS = 86_400_000;

export interface Spending {
  counters: Pick<Store, 'addToCounter'>;
  now: number;
  model: string;
  server: string;
  budget: ModelSettings['budget'];
  /** The limit for the answer. */
  maxTokens: number;
}

/**
 * Takes a call and the maximum tokens of an answer from the budget before the model is asked, so that concurrent requests
 * or a crash cannot overdraw it. Throws if the budget is exhausted. Resolves with a function that
 * replaces the reserved tokens by those actually used.
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

import type { TokenFacts } from '../ports/identity.ts';

/** Merges the facts of several tokens of one principal. */
export function mergedFacts(all: readonly (TokenFacts | undefined)[]): TokenFacts | undefined {
  const found = all.filter((facts) => facts !== undefined);
  if (found.length === 0) return undefined;
  const claims: Record<string, readonly string[]> = {};
  for (const [claim, values] of found.flatMap((facts) => Object.entries(facts.claims))) {
    claims[claim] = [...new Set([...(claims[claim] ?? []), ...values])].toSorted();
  }
  return { scopes: [...new Set(found.flatMap(({ scopes }) => scopes))].toSorted(), claims };
}

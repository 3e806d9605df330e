/** Finds rules that never decide because an earlier rule matches every call they match. */

import { isDeepStrictEqual } from 'node:util';
import type { Hint } from './hints.ts';
import type { Rule } from './rule.ts';

/** The earlier rule that decides on every call that the rule at `index` matches; -1 if there is none. */
export function coveredBy(rules: readonly Rule[], index: number): number {
  const rule = rules[index];
  return rule === undefined ? -1 : rules.slice(0, index).findIndex((earlier) => covers(earlier, rule));
}

function covers(earlier: Rule, later: Rule): boolean {
  return (
    coversNames(earlier.server, later.server) &&
    coversNames(earlier.tool, later.tool) &&
    coversNames(earlier.principal, later.principal) &&
    coversHints(earlier, later) &&
    coversArgs(earlier, later)
  );
}

function coversNames(earlier: string | undefined, later: string | undefined): boolean {
  return earlier === undefined || coversPattern(earlier, later ?? '*');
}

function coversHints({ annotations: earlier = {} }: Rule, { annotations: later = {} }: Rule): boolean {
  return Object.entries(earlier).every(([hint, value]) => value === undefined || later[hint as Hint] === value);
}

function coversArgs({ args: earlier = {}, then }: Rule, later: Rule): boolean {
  const given = later.args ?? {};
  return Object.entries(earlier).every(([path, value]) => {
    if (!Object.hasOwn(given, path)) return false;
    // For several items, `allow` requires all to match, the other effects only one.
    if (path.split('.').includes('*') && then === 'allow' && later.then !== 'allow') return false;
    const other = given[path];
    return typeof value === 'string' && typeof other === 'string'
      ? coversPattern(value, other)
      : isDeepStrictEqual(value, other);
  });
}

/** Whether `wide` matches every name that `narrow` matches. Never wrongly true; may miss unusual cases. */
export function coversPattern(wide: string, narrow: string): boolean {
  const [outer, inner] = [wide.toLowerCase(), narrow.toLowerCase()];
  // Row by row: whether the rest of `outer` covers each rest of `inner`.
  let next = Array.from({ length: inner.length + 1 }, (_, at) => at === inner.length);
  for (const token of outer.split('').toReversed()) {
    const row: boolean[] = Array.from({ length: inner.length + 1 }, () => false);
    for (let at = inner.length; at >= 0; at -= 1) {
      const other = inner[at];
      if (token === '*') row[at] = next[at] === true || row[at + 1] === true;
      else if (other !== undefined && other !== '*' && (token === '?' || token === other))
        row[at] = next[at + 1] === true;
    }
    next = row;
  }
  return next[0] === true;
}

/** Rules that do nothing, which the schema of the file cannot find. */

import { known } from '../core/errors.ts';
import { coveredBy } from '../core/policy/coverage.ts';
import type { Rule } from '../core/policy/rule.ts';
import { closest } from '../lib/closest.ts';
import { compileGlob } from '../lib/pattern.ts';
import type { Mistake, Path } from './expand.ts';

interface Known {
  servers: readonly string[];
  disabled: readonly string[];
  /** Those with a token, and `local`, the person at this machine; absent if others can come with tokens of an issuer. */
  principals: readonly string[] | undefined;
}

/** A mistake cannot be meant; a warning may be: clients can add servers later, for example. */
export function checkRules(rules: readonly Rule[], about: Known): { mistakes: Mistake[]; warnings: Mistake[] } {
  const mistakes: Mistake[] = [];
  const warnings: Mistake[] = [];
  for (const [index, rule] of rules.entries()) {
    const path = ['meanwhile', 'rules', index];
    mistakes.push(...withoutAsk(path, rule));
    const earlier = coveredBy(rules, index);
    if (earlier >= 0) {
      const message = `never decides: rules[${earlier}] comes first and matches every call that this one matches`;
      mistakes.push({ path, message });
    }
    warnings.push(...unmatchedNames(path, rule, about));
  }
  return { mistakes, warnings };
}

function withoutAsk(path: Path, { then, remember, approver, timeoutMs }: Rule): Mistake[] {
  if (then === 'ask') return [];
  return Object.entries({ remember, approver, timeoutMs })
    .filter(([, value]) => value !== undefined)
    .map(([key]) => ({
      path: [...path, key],
      message: `has no effect with "then": "${then}"; only "ask" asks a person`,
    }));
}

function unmatchedNames(path: Path, { server, principal }: Rule, { servers, disabled, principals }: Known): Mistake[] {
  return [
    ...(server === undefined ? [] : unmatched([...path, 'server'], 'server', server, servers, disabled)),
    ...(principal === undefined || principals === undefined
      ? []
      : unmatched([...path, 'principal'], 'principal', principal, principals, [])),
  ];
}

function unmatched(
  path: Path,
  kind: string,
  pattern: string,
  names: readonly string[],
  disabled: readonly string[],
): Mistake[] {
  const matches = compileGlob(pattern);
  // A rule for a server that is turned off for a while is no mistake.
  if (names.some(matches) || disabled.some(matches)) return [];
  const near = closest(pattern, names);
  const suggestion = near === undefined ? '' : `did you mean '${near}'? `;
  return [{ path, message: `matches no ${kind}, so the rule never decides; ${suggestion}${known(names)}` }];
}

/** Which rule decides on a call: the first one that matches. Without a match, the call is allowed. */

import type { Hints } from './hints.ts';
import { compileRule, type CompiledRule, type Rule } from './rule.ts';

/** The rule that matches first; `undefined` if none does. */
export type MatchingRule = CompiledRule | undefined;

export interface DecidedCall {
  server: string;
  tool: string;
  principal: string;
  args: Readonly<Record<string, unknown>>;
}

/**
 * `candidates`: the rules for the tool, in their order. Without `hints`, the result is 'hints' if the annotations of the tool
 * would decide.
 */
export function decide(
  candidates: readonly CompiledRule[],
  args: Readonly<Record<string, unknown>>,
  hints: Hints | undefined,
): MatchingRule | 'hints' {
  for (const candidate of candidates) {
    if (candidate.matchesArgs && !candidate.matchesArgs(args)) continue;
    if (candidate.matchesHints === undefined) return candidate;
    if (hints === undefined) return 'hints';
    if (candidate.matchesHints(hints)) return candidate;
  }
  return undefined;
}

const CONDITIONS = ['server', 'tool', 'principal', 'args', 'annotations'] as const;

export type Condition = (typeof CONDITIONS)[number];

/** The condition of a rule that a call does not meet; `undefined` if it meets all. */
export function mismatch(
  rule: Rule,
  { server, tool, principal, args }: DecidedCall,
  hints: Hints,
): Condition | undefined {
  return CONDITIONS.find((condition) => {
    const alone = compileRule({ [condition]: rule[condition], then: rule.then }, 0);
    return !alone.isFor(server, tool, principal) || decide([alone], args, hints) === undefined;
  });
}

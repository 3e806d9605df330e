/** A rule of the config, and the conditions under which it decides on a call. */

import { canonicalJson } from '../../lib/canonical-json.ts';
import { isText } from '../../lib/exact-json.ts';
import { compileGlob } from '../../lib/pattern.ts';
import type { Hint, Hints } from './hints.ts';

/** What happens to a call: it is made, a person is asked first, or it is refused. */
export type RuleEffect = 'allow' | 'ask' | 'deny';

export interface Rule {
  /** Patterns, as are `tool` and `principal`. */
  server?: string | undefined;
  tool?: string | undefined;
  principal?: string | undefined;
  annotations?: Partial<Record<Hint, boolean | undefined>> | undefined;
  /** Values and patterns of arguments, by their paths. */
  args?: Readonly<Record<string, unknown>> | undefined;
  then: RuleEffect;
  /** Shown to the person who is asked, or to the client whose call is refused. */
  message?: string | undefined;
  /** Whether the person may allow the tool for the rest of the session. */
  remember?: boolean | undefined;
  /** Who may approve: `person` excludes the hub tools, which a model uses. */
  approver?: 'anyone' | 'person' | undefined;
  timeoutMs?: number | undefined;
}

export interface CompiledRule {
  rule: Rule;
  /** Its place in the config. */
  index: number;
  /** The conditions that can be decided once for all calls of a tool. */
  isFor: (server: string, tool: string, principal: string) => boolean;
  /** Absent if the arguments do not matter. */
  matchesArgs?: (args: Readonly<Record<string, unknown>>) => boolean;
  /** Absent if the annotations of the tool do not matter. */
  matchesHints?: (hints: Hints) => boolean;
}

export function compileRule(rule: Rule, index: number): CompiledRule {
  const [server, tool, principal] = [rule.server, rule.tool, rule.principal].map(optionalGlob);
  const args = Object.entries(rule.args ?? {}).map(([path, value]) => argument(path, value, rule.then === 'allow'));
  const hints = Object.entries(rule.annotations ?? {}) as [Hint, boolean | undefined][];
  const wanted = hints.filter(([, value]) => value !== undefined);
  return {
    rule,
    index,
    isFor: (...names) => (server?.(names[0]) ?? true) && (tool?.(names[1]) ?? true) && (principal?.(names[2]) ?? true),
    ...(args.length > 0 && { matchesArgs: (given) => args.every((matches) => matches(given)) }),
    ...(wanted.length > 0 && { matchesHints: (given) => wanted.every(([hint, value]) => given[hint] === value) }),
  };
}

const optionalGlob = (pattern: string | undefined): ((name: string) => boolean) | undefined =>
  pattern === undefined ? undefined : compileGlob(pattern);

/** `*` in a path means every item: `allow` requires all to match; for the other effects one is enough. */
function argument(path: string, expected: unknown, every: boolean): (args: unknown) => boolean {
  const steps = path.split('.');
  const glob = typeof expected === 'string' ? compileGlob(expected) : undefined;
  // As the server gets it: -0 is sent as 0.
  const same = canonicalJson(expected);
  const test = (value: unknown): boolean =>
    glob === undefined ? canonicalJson(value) === same : isText(value) && glob(value);
  const matchesFrom = (value: unknown, at: number): boolean => {
    const step = steps[at];
    if (step === undefined) return test(value);
    if (typeof value !== 'object' || value === null) return false;
    if (step === '*') {
      const items = Object.values(value);
      const matches = (item: unknown): boolean => matchesFrom(item, at + 1);
      return items.length > 0 && (every ? items.every(matches) : items.some(matches));
    }
    return Object.hasOwn(value, step) && matchesFrom((value as Record<string, unknown>)[step], at + 1);
  };
  return (args) => matchesFrom(args, 0);
}

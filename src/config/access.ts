/** Access rules and quotas that do nothing, which the schema of the file cannot find. */

import type { AccessRule } from '../core/access/access.ts';
import type { WhomConditions } from '../core/access/whom.ts';
import { known } from '../core/errors.ts';
import { coversPattern } from '../core/policy/coverage.ts';
import type { QuotaSettings } from '../core/quota/settings.ts';
import { closest } from '../lib/closest.ts';
import { compileGlob } from '../lib/pattern.ts';
import type { Mistake, Path } from './expand.ts';

interface Known {
  servers: readonly string[];
  disabled: readonly string[];
  /** Those with a token, and `local`, the person at this machine; absent if others can come with tokens of an issuer. */
  principals: readonly string[] | undefined;
}

interface Found {
  mistakes: Mistake[];
  warnings: Mistake[];
}

/** A mistake cannot be meant; a warning may be: a server may be added later, for example. */
export function checkAccess(rules: readonly AccessRule[], about: Known): Found {
  const mistakes: Mistake[] = [];
  const warnings: Mistake[] = [];
  for (const [index, rule] of rules.entries()) {
    const path = ['meanwhile', 'access', index];
    const earlier = rules.slice(0, index).findIndex((each) => covers(each, rule));
    if (earlier >= 0) {
      const message = `never decides: access[${earlier}] comes first and matches everything that this one matches`;
      mistakes.push({ path, message });
    }
    mistakes.push(...withoutIssuers(path, rule, about));
    warnings.push(...unmatched([...path, 'servers'], 'server', rule.servers, [...about.servers, ...about.disabled]));
    warnings.push(...unmatched([...path, 'principals'], 'principal', rule.principals, about.principals));
  }
  return { mistakes, warnings };
}

export function checkQuotas({ overrides }: QuotaSettings, about: Known): Found {
  const mistakes: Mistake[] = [];
  const warnings: Mistake[] = [];
  for (const [index, entry] of overrides.entries()) {
    const path = ['meanwhile', 'quotas', 'overrides', index];
    const earlier = overrides.slice(0, index).findIndex((each) => coversWhom(each, entry));
    if (earlier >= 0) {
      mistakes.push({
        path,
        message: `never counts: overrides[${earlier}] comes first and matches whoever this one matches`,
      });
    }
    mistakes.push(...withoutIssuers(path, entry, about));
    warnings.push(...unmatched([...path, 'principals'], 'principal', entry.principals, about.principals));
  }
  return { mistakes, warnings };
}

/** Only access tokens of issuers have scopes and claims. */
function withoutIssuers(path: Path, { scopes, claims }: WhomConditions, { principals }: Known): Mistake[] {
  if (principals === undefined) return [];
  return Object.entries({ scopes, claims })
    .filter(([, value]) => value !== undefined)
    .map(([key]) => ({
      path: [...path, key],
      message: 'never holds: only access tokens of auth.issuers have scopes and claims, and there are no issuers',
    }));
}

function unmatched(
  path: Path,
  kind: string,
  patterns: readonly string[] | undefined,
  all: readonly string[] | undefined,
): Mistake[] {
  if (patterns === undefined || all === undefined) return [];
  return patterns.flatMap((pattern, index) => {
    if (all.some(compileGlob(pattern))) return [];
    const near = closest(pattern, all);
    const suggestion = near === undefined ? '' : `did you mean '${near}'? `;
    return [{ path: [...path, index], message: `matches no ${kind}; ${suggestion}${known(all)}` }];
  });
}

function covers(earlier: AccessRule, later: AccessRule): boolean {
  return (
    coversWhom(earlier, later) && coversAny(earlier.servers, later.servers) && coversAny(earlier.tools, later.tools)
  );
}

function coversWhom(earlier: WhomConditions, later: WhomConditions): boolean {
  const claims = Object.entries(earlier.claims ?? {});
  return (
    coversAny(earlier.principals, later.principals) &&
    (earlier.scopes === undefined || later.scopes?.every((scope) => earlier.scopes?.includes(scope)) === true) &&
    claims.every(([claim, wide]) => {
      const narrow = later.claims?.[claim];
      return narrow !== undefined && coversAny(asList(wide), asList(narrow));
    })
  );
}

/** Whether each of the later patterns is covered by one of the earlier ones; without patterns, everything matches. */
function coversAny(earlier: readonly string[] | undefined, later: readonly string[] | undefined): boolean {
  if (earlier === undefined) return true;
  return (later ?? ['*']).every((narrow) => earlier.some((wide) => coversPattern(wide, narrow)));
}

const asList = (one: string | readonly string[]): readonly string[] => (typeof one === 'string' ? [one] : one);

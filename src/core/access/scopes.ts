import type { Scope } from '../ports/identity.ts';

/** The names that the authorization servers give the scopes. */
export type ScopeNames = Record<Scope, string>;

/** From the greatest to the smallest; each contains those after it. */
export const SCOPES: readonly Scope[] = ['operate', 'answer', 'use'];

/** Adds the scopes that greater scopes contain: `operate` includes `use`. */
export function withContained(granted: ReadonlySet<string>, names: ScopeNames): Set<string> {
  const greatest = SCOPES.findIndex((scope) => granted.has(names[scope]));
  const contained = greatest < 0 ? [] : SCOPES.slice(greatest).map((scope) => names[scope]);
  return new Set([...granted, ...contained]);
}

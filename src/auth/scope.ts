import type { Scope } from '../core/ports.ts';

/** The names that the authorization servers give the scopes; without names, every valid token may do what its principal may. */
export type ScopeNames = Record<Scope, string>;

/** From the greatest to the smallest; each contains those after it. */
const ORDER: readonly Scope[] = ['operate', 'answer', 'use'];

/** The greatest scope that a token has. */
export function greatestScope(granted: ReadonlySet<string>, names: ScopeNames): Scope | undefined {
  return ORDER.find((scope) => granted.has(names[scope]));
}

/** The scopes in a claim: most issuers send a string with spaces between them, some a list. */
export function scopesIn(claim: unknown): Set<string> {
  if (typeof claim === 'string') return new Set(claim.split(/\s+/).filter((scope) => scope !== ''));
  return new Set(Array.isArray(claim) ? claim.filter((scope) => typeof scope === 'string') : []);
}

import { SCOPES, type ScopeNames } from '../core/access/scopes.ts';
import type { Scope } from '../core/ports/identity.ts';

/** The greatest scope that a token has. */
export function greatestScope(granted: ReadonlySet<string>, names: ScopeNames): Scope | undefined {
  return SCOPES.find((scope) => granted.has(names[scope]));
}

/** The scopes in a claim: most issuers send a space-separated string, some a list. */
export function readScopes(claim: unknown): Set<string> {
  if (typeof claim === 'string') return new Set(claim.split(/\s+/).filter((scope) => scope !== ''));
  return new Set(Array.isArray(claim) ? claim.filter((scope) => typeof scope === 'string') : []);
}

export function greatestOf(scopes: readonly (Scope | undefined)[]): Scope | undefined {
  return SCOPES.find((scope) => scopes.includes(scope));
}

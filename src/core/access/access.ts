/** Decides who may use which servers and tools. Exists only if the configuration has access rules. */

import { compileGlob } from '../../lib/pattern.ts';
import { serverFilter } from '../groups.ts';
import type { Identity, TokenFacts } from '../ports/identity.ts';
import { Grant, decideOnce, type AccessRule, type CompiledAccessRule } from './grant.ts';
import { SessionAccess, type SessionAccessParts } from './session-access.ts';
import { compileWhom } from './whom.ts';

export type { AccessRule, Grant } from './grant.ts';

export class Access {
  readonly #rules: readonly CompiledAccessRule[];
  /** Identities that match the same rules share a grant. */
  readonly #grants = new Map<string, Grant>();
  /** Grants of principals whose tokens have none of the scopes and claims in the rules. */
  readonly #byPrincipal = new Map<string, Grant>();
  readonly #byFacts = new WeakMap<TokenFacts, { principal: string; grant: Grant }>();

  constructor(rules: readonly AccessRule[]) {
    this.#rules = rules.map(compile);
  }

  grantOf({ principal, facts }: Identity): Grant {
    if (facts === undefined) return decideOnce(this.#byPrincipal, principal, () => this.#grantFor({ principal }));
    const before = this.#byFacts.get(facts);
    if (before?.principal === principal) return before.grant;
    const grant = this.#grantFor({ principal, facts });
    this.#byFacts.set(facts, { principal, grant });
    return grant;
  }

  /** The access of one session. */
  forSession(parts: Omit<SessionAccessParts, 'grantOf'>): SessionAccess {
    return new SessionAccess({ ...parts, grantOf: (identity) => this.grantOf(identity) });
  }

  #grantFor(identity: Identity): Grant {
    const rules = this.#rules.filter(({ isFor }) => isFor(identity));
    return decideOnce(this.#grants, rules.map(({ index }) => index).join(), () => new Grant(rules));
  }
}

function compile(rule: AccessRule, index: number): CompiledAccessRule {
  const { tools } = rule;
  const compiled = tools?.map((pattern) => compileGlob(pattern));
  return {
    rule,
    index,
    isFor: compileWhom(rule),
    hasServer: serverFilter(rule),
    ...(compiled && { hasTool: (tool: string) => compiled.some((matches) => matches(tool)) }),
  };
}

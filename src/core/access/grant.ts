/** The servers and tools that an identity may use, by the access rules that match it. */

import type { Whom, WhomConditions } from './whom.ts';

export interface AccessRule extends WhomConditions {
  /** Names of servers and patterns of such names; all servers by default. */
  servers?: readonly string[] | undefined;
  /** Patterns of tools; the rule then does not apply to the server's other tools. */
  tools?: readonly string[] | undefined;
  then: 'allow' | 'deny';
}

export interface CompiledAccessRule {
  rule: AccessRule;
  index: number;
  isFor: Whom;
  hasServer: (server: string) => boolean;
  /** Absent if the rule applies to whole servers. */
  hasTool?: (tool: string) => boolean;
}

/** The rule that decides; `undefined` if none matches, so that nothing is allowed. */
export type Deciding = { index: number; allows: boolean } | undefined;

/** The limit on cached decisions of each kind; clients can invent names. */
const MAX_KNOWN = 10_000;

/** What one identity may use. */
export class Grant {
  readonly #rules: readonly CompiledAccessRule[];
  readonly #servers = new Map<string, boolean>();
  readonly #tools = new Map<string, boolean>();

  constructor(rules: readonly CompiledAccessRule[]) {
    this.#rules = rules;
  }

  /** Whether the identity may use the server, or at least some of its tools. */
  sees(server: string): boolean {
    return decideOnce(this.#servers, server, () => this.decidingOn(server)?.allows === true);
  }

  mayCall(server: string, tool: string): boolean {
    // The name of a server has no line break.
    return decideOnce(this.#tools, `${server}\n${tool}`, () => this.decidingOn(server, tool)?.allows === true);
  }

  /** Without a tool: the first rule that allows something on the server, or the first that applies to the whole server. */
  decidingOn(server: string, tool?: string): Deciding {
    const found = this.#rules.find(({ rule, hasServer, hasTool }) => {
      if (!hasServer(server)) return false;
      if (hasTool === undefined) return true;
      return tool === undefined ? rule.then === 'allow' : hasTool(tool);
    });
    return found && { index: found.index, allows: found.rule.then === 'allow' };
  }
}

/** The cached decision, or a new one. */
export function decideOnce<T>(decisions: Map<string, T>, key: string, decide: () => T): T {
  const before = decisions.get(key);
  if (before !== undefined) return before;
  const decided = decide();
  if (decisions.size >= MAX_KNOWN) decisions.clear();
  decisions.set(key, decided);
  return decided;
}

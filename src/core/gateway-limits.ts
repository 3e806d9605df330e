import type { LimitUsage } from './ports/cluster-store.ts';
import type { CoreSettings } from './settings.ts';
import { SharedLimit, type Quota } from './shared-limit.ts';

/** Limits that all gateways on a store share; each principal has a reserved part. */
export interface GatewayLimits {
  sessions: SharedLimit;
  requests: SharedLimit;
  /** Unfinished tasks. */
  tasks: SharedLimit;
}

/** What one session takes from these limits. */
export interface SessionQuotas {
  session: Quota;
  requests: Quota;
  tasks: Quota;
  /** Of open questions; absent without quotas. */
  questions?: Quota;
}

export function gatewayLimits({ sessions, tasks, limits }: CoreSettings, names: readonly string[]): GatewayLimits {
  const principals = { names, reserved: limits.principalShare };
  return {
    sessions: new SharedLimit(
      sessions.max,
      {
        things: 'sessions',
        state: 'are open',
        setting: 'sessions.max',
        fix: 'end one with DELETE or raise the limit',
      },
      principals,
    ),
    requests: new SharedLimit(
      limits.requests,
      { things: 'requests', state: 'are open', setting: 'limits.requests', fix: 'wait for some to finish' },
      principals,
    ),
    tasks: new SharedLimit(
      tasks.max,
      { things: 'tasks', state: 'are running', setting: 'tasks.max', fix: 'wait for some to finish or cancel some' },
      principals,
    ),
  };
}

/** The usage of this gateway, without unused limits. */
export function usageOf(limits: GatewayLimits): LimitUsage {
  const used = Object.entries(limits).map(([name, limit]: [string, SharedLimit]) => [name, limit.usedHere] as const);
  return Object.fromEntries(used.filter(([, byPrincipal]) => Object.keys(byPrincipal).length > 0));
}

/** Adds the usage of other gateways. */
export function noteElsewhere(limits: GatewayLimits, others: readonly LimitUsage[]): void {
  for (const [name, limit] of Object.entries(limits) as [string, SharedLimit][]) {
    const elsewhere = new Map<string, number>();
    for (const [principal, count] of others.flatMap((usage) => Object.entries(usage[name] ?? {}))) {
      elsewhere.set(principal, (elsewhere.get(principal) ?? 0) + count);
    }
    limit.setElsewhere(elsewhere);
  }
}

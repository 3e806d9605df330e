import type { CoreSettings } from './settings.ts';
import { SharedLimit, type Quota } from './shared-limit.ts';

/** Limits of the whole gateway, in which every principal has a share. */
export interface GatewayLimits {
  sessions: SharedLimit;
  requests: SharedLimit;
  /** Of tasks at work. */
  tasks: SharedLimit;
}

/** The part of one session in them. */
export interface SessionQuotas {
  session: Quota;
  requests: Quota;
  tasks: Quota;
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

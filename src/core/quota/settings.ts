import type { WhomConditions } from '../access/whom.ts';

export const QUOTAS = ['callsPerMinute', 'openCalls', 'tasks', 'questions', 'sessions', 'bytes'] as const;

export type QuotaName = (typeof QUOTAS)[number];

/** Without a value, there is no such quota. */
export type QuotaLimits = Partial<Record<QuotaName, number | undefined>>;

export interface QuotaSettings extends QuotaLimits {
  /** The first one that matches counts. */
  overrides: readonly (WhomConditions & QuotaLimits)[];
}

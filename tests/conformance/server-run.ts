/** One run of the suite against one URL. */
import type { Check, Revision, Suite } from './suite.ts';

/** The checks of each scenario that came to its end. */
export type Checks = ReadonlyMap<string, readonly Check[]>;

/** More than the suite ever needs; a request without an answer would hold it up for ever. */
const TIMEOUT_MS = 120_000;

/** All server scenarios of a revision, counted there or not; or one of them. */
export async function runSuite(suite: Suite, url: string, revision: Revision, scenario?: string): Promise<Checks> {
  const one = ['--spec-version', revision, '--force', '--scenario', scenario ?? ''];
  const which = scenario === undefined ? ['--requirements', revision] : one;
  const results = await suite.results(['server', '--url', url, ...which], TIMEOUT_MS);
  return new Map(results.map(({ scenario, checks }) => [scenario.replace(/^server-/, ''), checks]));
}

/** As the suite counts: something was right and nothing was wrong. */
export function passes(checks: readonly Check[] | undefined): boolean {
  const has = (status: Check['status']): boolean => (checks ?? []).some((check) => check.status === status);
  return has('SUCCESS') && !has('FAILURE');
}

/** A check that came out right of the backend alone and not through the gateway. */
export interface Loss {
  check: string;
  /** In the words of the suite. */
  complaint: string;
}

/** What is worse than alone. Some checks are made several times. */
export function lost(alone: readonly Check[] = [], through: readonly Check[] | undefined): Loss[] {
  if (through === undefined) return [{ check: 'all', complaint: 'the scenario did not come to its end' }];
  const wrong = (checks: readonly Check[], id: string): Check[] =>
    checks.filter((check) => check.id === id && (check.status === 'FAILURE' || check.status === 'WARNING'));
  const right = new Set(alone.filter(({ status }) => status === 'SUCCESS').map(({ id }) => id));
  const worse = [...right].filter((id) => wrong(through, id).length > wrong(alone, id).length);
  const missing = [...right].filter((id) => !through.some((check) => check.id === id));
  return [
    ...worse.flatMap((id) => wrong(through, id).map(asLoss)),
    ...through.filter(({ id, status }) => status === 'FAILURE' && !right.has(id)).map(asLoss),
    ...missing.map((check) => ({ check, complaint: 'the suite did not get that far' })),
  ];
}

function asLoss({ id, status, description, errorMessage }: Check): Loss {
  return { check: id, complaint: `${errorMessage ?? description} (${status})` };
}

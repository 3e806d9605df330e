/** What the suite asks of servers, in sets that are counted apart. */
import type { Revision, Suite } from './suite.ts';

/** The era of the protocol that a server speaks. */
export type Era = 'legacy' | 'modern';

export interface ScenarioSet {
  name: string;
  /** The revision of the protocol that the suite speaks in it. */
  revision: Revision;
  scenarios: string[];
  /** Not counted by the suite: a server need not pass it. */
  beside?: true;
}

export const REVISION: Record<Era, Revision> = { legacy: '2025-11-25', modern: '2026-07-28' };

export function eraOf({ revision }: ScenarioSet): Era {
  return revision === REVISION.legacy ? 'legacy' : 'modern';
}

/** The suite skips what it would have to find in there. */
const ALWAYS_SKIPPED = 'tasks-status-notifications';

/** Both requirement sets, the tasks extension, and what the suite has beside them. */
export function scenarioSets(suite: Suite): ScenarioSet[] {
  return Object.values(REVISION).flatMap((revision) => {
    const { server, not_scored } = suite.requirements(revision);
    const others = not_scored.filter(({ leg, scenario }) => leg === 'server' && scenario !== ALWAYS_SKIPPED);
    const beside = others.filter(({ reason }) => reason !== 'extension').map(({ scenario }) => scenario);
    const tasks = others.filter(({ reason }) => reason === 'extension').map(({ scenario }) => scenario);
    return [
      { name: revision, revision, scenarios: server },
      { name: `${revision} beside`, revision, scenarios: beside, beside: true as const },
      { name: 'tasks', revision, scenarios: tasks },
    ].filter(({ scenarios }) => scenarios.length > 0);
  });
}

/** All runs of the suite against the backends alone and behind the gateway, several at a time. */
import {
  compare,
  isUnexpected,
  readServerExceptions,
  surprises,
  table,
  type Finding,
  type ServerExceptions,
} from './server-report.ts';
import { passes, runSuite, type Checks } from './server-run.ts';
import { eraOf, REVISION, scenarioSets, type Era, type ScenarioSet } from './server-sets.ts';
import { openTargets } from './server-targets.ts';
import { openSuite, type Revision } from './suite.ts';

export interface Report {
  findings: Finding[];
  /** Empty if all is as it should be. */
  surprises: string[];
  table: string;
}

export interface Wanted {
  /** Only this scenario. */
  scenario?: string | undefined;
  /** Only backends with this in their name, as in `legacy-stdio`. */
  target?: string | undefined;
  /** How many of them, behind a balancer. */
  gateways?: number | undefined;
}

/** Most of a run is waiting for tasks. */
const AT_ONCE = 6;

/** The slow ones first. */
const ERAS: readonly Era[] = ['modern', 'legacy'];

const NONE: Checks = new Map();
const NO_EXCEPTIONS: ServerExceptions = { sameEra: {}, otherEra: {} };

/** Gives up on streams after half a second, which says something of the gateway only on a machine that is not busy. */
const TIMED = 'server-stateless';

export async function conformanceOfServers({ scenario, target: only = '', gateways }: Wanted = {}): Promise<Report> {
  const suite = await openSuite();
  const sets = scenarioSets(suite)
    .map((set) => ({ ...set, scenarios: set.scenarios.filter((name) => scenario === undefined || name === scenario) }))
    .filter(({ scenarios }) => scenarios.length > 0);
  const whole = scenario === undefined && only === '';
  const exceptions = readServerExceptions();
  const targets = await openTargets(gateways);
  try {
    const behind = targets.behind.filter(({ era, transport }) => `${era}-${transport}`.includes(only));
    const found = new Map<string, Checks>();
    const run = async (url: string, revision: Revision, one = scenario): Promise<void> => {
      const key = `${revision} ${url}`;
      const checks = await runSuite(suite, url, revision, one);
      found.set(key, new Map([...(found.get(key) ?? NONE), ...checks]));
    };
    const jobs = ERAS.filter((era) => sets.some((set) => eraOf(set) === era)).flatMap((era) =>
      [targets.alone[era], ...behind.map(({ url }) => url)].map((url) => () => run(url, REVISION[era])),
    );
    await several(jobs, AT_ONCE);

    const of = (url: string, { revision }: ScenarioSet): Checks => found.get(`${revision} ${url}`) ?? NONE;
    const alone = (set: ScenarioSet): Checks => of(targets.alone[eraOf(set)], set);
    const findings = (): Finding[] =>
      sets.flatMap((set) =>
        behind.flatMap((target) => compare(set, target, alone(set), of(target.url, set), exceptions)),
      );
    for (const set of sets.filter(({ scenarios }) => scenarios.includes(TIMED))) {
      if (!passes(alone(set).get(TIMED))) await run(targets.alone[eraOf(set)], set.revision, TIMED);
      const late = findings().filter((finding) => finding.scenario === TIMED && isUnexpected(finding));
      for (const { target } of late) await run(target.url, set.revision, TIMED);
    }
    return {
      findings: findings(),
      surprises: [...broken(sets, alone), ...surprises(findings(), whole ? exceptions : NO_EXCEPTIONS)],
      table: table(sets, alone, findings()),
    };
  } finally {
    await targets.close();
  }
}

/** A backend that is not right itself proves nothing. */
function broken(sets: readonly ScenarioSet[], alone: (set: ScenarioSet) => Checks): string[] {
  return sets
    .filter(({ beside }) => beside !== true)
    .flatMap((set) => set.scenarios.filter((scenario) => !passes(alone(set).get(scenario))))
    .map((scenario) => `${scenario} does not even pass against the backend alone`);
}

async function several(jobs: readonly (() => Promise<unknown>)[], atOnce: number): Promise<void> {
  const left = jobs.values();
  const worker = async (): Promise<void> => {
    for (const job of left) await job();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

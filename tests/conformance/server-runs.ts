/** All runs of the suite against the backends alone and behind the gateway, several at a time. */
import { compare, readServerExceptions, surprises, table, type Finding } from './server-report.ts';
import { passes, runSuite, type Checks } from './server-run.ts';
import { eraOf, REVISION, scenarioSets, type Era, type ScenarioSet } from './server-sets.ts';
import { openTargets, type Target } from './server-targets.ts';
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
}

/** Most of a run is waiting for tasks. */
const AT_ONCE = 6;

/** The slow ones first. */
const ERAS: readonly Era[] = ['modern', 'legacy'];

export async function conformanceOfServers({ scenario, target: only = '' }: Wanted = {}): Promise<Report> {
  const suite = await openSuite();
  const targets = await openTargets();
  try {
    const sets = scenarioSets(suite).map((set) => ({
      ...set,
      scenarios: set.scenarios.filter((name) => scenario === undefined || name === scenario),
    }));
    const behind = targets.behind.filter(({ era, transport }) => `${era}-${transport}`.includes(only));
    const alone = new Map<Revision, Checks>();
    const through = new Map<Target, Map<Revision, Checks>>(behind.map((target) => [target, new Map()]));
    const jobs = ERAS.filter((era) => sets.some((set) => eraOf(set) === era && set.scenarios.length > 0)).flatMap(
      (era) => {
        const revision = REVISION[era];
        const run = async (url: string): Promise<Checks> => runSuite(suite, url, revision, scenario);
        return [
          async () => alone.set(revision, await run(targets.alone[era])),
          ...behind.map((target) => async () => through.get(target)?.set(revision, await run(target.url))),
        ];
      },
    );
    await several(jobs, AT_ONCE);

    const none: Checks = new Map();
    const aloneOf = ({ revision }: ScenarioSet): Checks => alone.get(revision) ?? none;
    const exceptions = readServerExceptions();
    const findings = sets.flatMap((set) =>
      behind.flatMap((target) =>
        compare(set, target, aloneOf(set), through.get(target)?.get(set.revision) ?? none, exceptions),
      ),
    );
    const whole = scenario === undefined && only === '';
    const broken = sets
      .filter(({ name }) => !name.endsWith('beside'))
      .flatMap((set) =>
        set.scenarios.filter((name) => !passes(aloneOf(set).get(name))).map((name) => `${set.name}/${name}`),
      )
      .map((name) => `${name} does not even pass against the backend alone`);
    return {
      findings,
      surprises: [...broken, ...surprises(findings, whole ? exceptions : { sameEra: {}, otherEra: {} })],
      table: table(sets, aloneOf, findings),
    };
  } finally {
    await targets.close();
  }
}

async function several(jobs: readonly (() => Promise<unknown>)[], atOnce: number): Promise<void> {
  const left = jobs.values();
  const worker = async (): Promise<void> => {
    for (const job of left) await job();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

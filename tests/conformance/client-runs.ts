/** Which scenarios are run, and how one of them ends. */
import { entryFor, type Exceptions } from './exceptions.ts';
import type { Check, Revision, Suite } from './suite.ts';

export interface Run {
  scenario: string;
  /** The revision of the protocol that the suite's server speaks. */
  revision: Revision;
}

export interface Verdict extends Run {
  /** `nothing`: the client did nothing that could have been judged. */
  verdict: 'pass' | 'fail' | 'nothing';
  passed: number;
  checks: number;
  /** What was wrong, in the words of the suite. */
  complaints: string[];
}

const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28'];
const LIMIT = ['--timeout', '60000'];

/** All of both requirement sets, counted there or not, and what the suite has for clients in neither. */
export async function allRuns(suite: Suite): Promise<Run[]> {
  const required = REVISIONS.flatMap((revision) => {
    const { client, not_scored } = suite.requirements(revision);
    const unscored = not_scored.filter(({ leg }) => leg === 'client').map(({ scenario }) => scenario);
    return [...client, ...unscored].map((scenario): Run => ({ scenario, revision }));
  });
  const { stdout } = await suite.run(['list']);
  const [, listed = ''] = /^Client scenarios.*\n((?:  - .*\n)+)/m.exec(stdout) ?? [];
  const others = [...listed.matchAll(/^  - (\S+)/gm)]
    .map(([, scenario = '']) => scenario)
    .filter((scenario) => !required.some((run) => run.scenario === scenario))
    .map((scenario): Run => ({ scenario, revision: '2026-07-28' }));
  return [...required, ...others];
}

export function applicable(runs: readonly Run[], { notApplicable }: Exceptions): Run[] {
  return runs.filter(({ scenario }) => entryFor(notApplicable, scenario) === undefined);
}

/**
 * Lets the suite start the driver and judge what it does: all that a revision asks for in one process, which saves most of the time;
 * and once more by itself whatever did not simply pass there. Reports each as soon as it is known.
 */
export async function runAll(
  suite: Suite,
  runs: readonly Run[],
  driver: string,
  exceptions: Exceptions,
  report: (verdict: Verdict) => void = () => {},
): Promise<Verdict[]> {
  const verdicts = await Promise.all(
    REVISIONS.map(async (revision) => {
      const wanted = runs.filter((run) => run.revision === revision);
      const passed = wanted.length > 1 ? await passedTogether(suite, revision, driver) : new Map<string, Verdict>();
      const judged: Verdict[] = [];
      for (const run of wanted) {
        const verdict = passed.get(run.scenario) ?? (await runScenario(suite, run, driver, exceptions));
        report(verdict);
        judged.push(verdict);
      }
      return judged;
    }),
  );
  return verdicts.flat();
}

/** The scenarios of a revision in which every check succeeded and the client had nothing to complain about, by name. */
async function passedTogether(suite: Suite, revision: Revision, driver: string): Promise<Map<string, Verdict>> {
  const results = await suite.results(['client', '--command', driver, '--requirements', revision, ...LIMIT]);
  const verdicts = results.flatMap(({ scenario, checks, stderr }): Verdict[] => {
    const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
    const flawless = checks.every(({ status }) => status !== 'FAILURE' && status !== 'WARNING') && stderr === '';
    return flawless && passed > 0
      ? [{ scenario, revision, verdict: 'pass', passed, checks: passed, complaints: [] }]
      : [];
  });
  return new Map(verdicts.map((verdict) => [verdict.scenario, verdict]));
}

/** One scenario in a process of its own. */
async function runScenario(suite: Suite, run: Run, driver: string, { loadDependent }: Exceptions): Promise<Verdict> {
  const { scenario, revision } = run;
  const what = ['--scenario', scenario, '--spec-version', revision];
  const { code, stdout, stderr } = await suite.run([
    'client',
    '--command',
    driver,
    ...what,
    '--force',
    '--verbose',
    ...LIMIT,
  ]);
  const all = checksIn(stdout);
  const of = (status: Check['status']): Check[] => all.filter((check) => check.status === status);
  const [excused, warnings] = partition(of('WARNING'), ({ id }) => id in loadDependent);
  const complaints = [...of('FAILURE'), ...warnings].map(complaint);
  const trouble = /CLIENT (?:TIMED OUT|EXITED WITH ERROR).*/.exec(stderr)?.[0];
  if (trouble !== undefined) complaints.push(`${trouble}\n${clientWords(stderr)}`);
  if (code !== 0 && complaints.length + excused.length === 0)
    complaints.push(`the suite ended with ${code}\n${stderr}`);
  const passed = of('SUCCESS').length;
  const good = passed > 0 ? 'pass' : 'nothing';
  return {
    ...run,
    verdict: complaints.length > 0 ? 'fail' : good,
    passed,
    checks: passed + of('FAILURE').length,
    complaints,
  };
}

/** With `--verbose` the suite writes nothing else there. */
function checksIn(stdout: string): Check[] {
  const start = stdout.indexOf('[');
  return start === -1 ? [] : (JSON.parse(stdout.slice(start)) as Check[]);
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}

function complaint({ name, description, errorMessage }: Check): string {
  return `${name}: ${errorMessage ?? description}`;
}

function clientWords(stderr: string): string {
  const [, words = ''] = /\nStderr:\n([\s\S]*?)\n\n/.exec(stderr) ?? [];
  return words;
}

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
/** Up to this number, it is faster to run only these, one by one, than all scenarios of their revision together. */
const FEW = 5;

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
 * and after that, one by one, what can be judged only by itself.
 */
export async function runAll(
  suite: Suite,
  runs: readonly Run[],
  driver: string,
  exceptions: Exceptions,
  report: (verdict: Verdict) => void = () => {},
): Promise<Verdict[]> {
  const together = await Promise.all(
    REVISIONS.map(async (revision) => {
      const wanted = runs.filter((run) => run.revision === revision);
      return wanted.length > FEW ? runTogether(suite, revision, driver, exceptions) : [];
    }),
  );
  const known = together.flat();
  const verdicts: Verdict[] = [];
  for (const run of runs) {
    const verdict =
      known.find(({ scenario, revision }) => scenario === run.scenario && revision === run.revision) ??
      (await runScenario(suite, run, driver, exceptions));
    report(verdict);
    verdicts.push(verdict);
  }
  return verdicts;
}

/**
 * What became of the scenarios of a revision that can be judged here. Where the client ended with an error and no check failed, the
 * suite says only of a scenario that it runs by itself whether the error was right.
 */
async function runTogether(
  suite: Suite,
  revision: Revision,
  driver: string,
  exceptions: Exceptions,
): Promise<Verdict[]> {
  const results = await suite.results(['client', '--command', driver, '--requirements', revision, ...LIMIT]);
  return results
    .filter(({ stdout, checks }) => stdout.trim() === 'done' || checks.some(({ status }) => status === 'FAILURE'))
    .map(({ scenario, checks }) => verdictOf({ scenario, revision }, checks, exceptions));
}

/** One scenario in a process of its own. */
async function runScenario(suite: Suite, run: Run, driver: string, exceptions: Exceptions): Promise<Verdict> {
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
  const checks = checksIn(stdout);
  const trouble = /CLIENT (?:TIMED OUT|EXITED WITH ERROR).*/.exec(stderr)?.[0];
  if (trouble !== undefined) return verdictOf(run, checks, exceptions, `${trouble}\n${clientWords(stderr)}`);
  const explained = checks.some(({ status }) => status === 'FAILURE' || status === 'WARNING');
  if (code !== 0 && !explained) return verdictOf(run, checks, exceptions, `the suite ended with ${code}\n${stderr}`);
  return verdictOf(run, checks, exceptions);
}

function verdictOf(run: Run, all: readonly Check[], { loadDependent }: Exceptions, ...trouble: string[]): Verdict {
  const of = (status: Check['status']): Check[] => all.filter((check) => check.status === status);
  const warnings = of('WARNING').filter(({ id }) => !(id in loadDependent));
  const complaints = [...[...of('FAILURE'), ...warnings].map(complaint), ...trouble];
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

function complaint({ name, description, errorMessage }: Check): string {
  return `${name}: ${errorMessage ?? description}`;
}

function clientWords(stderr: string): string {
  const [, words = ''] = /\nStderr:\n([\s\S]*?)\n\n/.exec(stderr) ?? [];
  return words;
}

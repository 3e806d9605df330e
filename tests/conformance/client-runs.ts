/** Which scenarios are run, and how one of them ends. */
import { entryFor, type Exceptions } from './exceptions.ts';
import type { Revision, Suite } from './suite.ts';

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

interface Check {
  id: string;
  name: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  description: string;
  errorMessage?: string;
}

const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28'];
const TIMEOUT_MS = 60_000;

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

/** Lets the suite start the driver and judge what it does. */
export async function runScenario(
  suite: Suite,
  run: Run,
  driver: string,
  { loadDependent }: Exceptions,
): Promise<Verdict> {
  const { scenario, revision } = run;
  const what = ['--scenario', scenario, '--spec-version', revision];
  const how = ['--force', '--verbose', '--timeout', String(TIMEOUT_MS)];
  const { code, stdout, stderr } = await suite.run(['client', '--command', driver, ...what, ...how]);
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

/** Runs several at a time; tells each as soon as it is over. */
export async function runAll(
  runs: readonly Run[],
  atOnce: number,
  start: (run: Run) => Promise<Verdict>,
  tell: (verdict: Verdict) => void = () => {},
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  const left = runs.entries();
  const worker = async (): Promise<void> => {
    for (const [index, run] of left) {
      const verdict = await start(run);
      verdicts[index] = verdict;
      tell(verdict);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return verdicts;
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

/** Compares what the suite found of the backends alone with what it found of them behind the gateway. */
import { readFileSync } from 'node:fs';
import { lost, passes, type Checks, type Loss } from './server-run.ts';
import { eraOf, type ScenarioSet } from './server-sets.ts';
import type { Target } from './server-targets.ts';

/** What cannot be the same through the gateway, by `set/scenario`. */
export type ServerExceptions = Record<'sameEra' | 'otherEra', Record<string, Exception>>;

export interface Exception {
  /** The checks that come out differently. */
  checks: string[];
  reason: string;
}

export interface Finding {
  set: ScenarioSet;
  target: Target;
  scenario: string;
  /** Whether the suite would count it. */
  passed: boolean;
  lost: Loss[];
  exception: Exception | undefined;
}

export function readServerExceptions(): ServerExceptions {
  return JSON.parse(readFileSync(new URL('server-exceptions.json', import.meta.url), 'utf8')) as ServerExceptions;
}

function relation(set: ScenarioSet, { era }: Target): 'sameEra' | 'otherEra' {
  return era === eraOf(set) ? 'sameEra' : 'otherEra';
}

/** One finding for each scenario that passes alone. */
export function compare(
  set: ScenarioSet,
  target: Target,
  alone: Checks,
  through: Checks,
  exceptions: ServerExceptions,
): Finding[] {
  return set.scenarios
    .filter((scenario) => passes(alone.get(scenario)))
    .map((scenario) => {
      const checks = through.get(scenario);
      const exception = exceptions[relation(set, target)][`${set.name}/${scenario}`];
      return { set, target, scenario, passed: passes(checks), lost: lost(alone.get(scenario), checks), exception };
    });
}

/** Something lost without an exception, or an exception where nothing is lost. */
export function isUnexpected(finding: Finding): boolean {
  return mistakes(finding).length > 0;
}

function mistakes({ lost, exception }: Finding): string[] {
  const excused = exception?.checks ?? [];
  const unexcused = lost.filter(({ check }) => !excused.includes(check));
  const right = excused.filter((id) => !lost.some(({ check }) => check === id));
  return [
    ...unexcused.map(({ check, complaint }) => `${check}: ${complaint}`),
    ...right.map((id) => `${id}: is right, take it out of server-exceptions.json`),
  ];
}

/** What must not be. */
export function surprises(findings: readonly Finding[], exceptions: ServerExceptions): string[] {
  const unexpected = findings.filter(isUnexpected).map((finding) => {
    const { era, transport } = finding.target;
    return [`${nameOf(finding)}, ${era} backend on ${transport}`, ...mistakes(finding)].join('\n    ');
  });
  const known = new Set(findings.map((finding) => `${relation(finding.set, finding.target)} ${nameOf(finding)}`));
  const idle = Object.entries(exceptions).flatMap(([relation, entries]) =>
    Object.keys(entries)
      .filter((name) => !known.has(`${relation} ${name}`))
      .map((name) => `server-exceptions.json speaks of '${name}' (${relation}), which is not run`),
  );
  return [...unexpected, ...idle];
}

function nameOf({ set, scenario }: Finding): string {
  return `${set.name}/${scenario}`;
}

/** Scenarios passed of those that there are, for each set: alone, and with each way to reach a backend. */
export function table(
  sets: readonly ScenarioSet[],
  alone: (set: ScenarioSet) => Checks,
  findings: readonly Finding[],
): string {
  const ways = ['http', 'stdio', 'group'] as const;
  const columns = [...ways.map((way) => `same era, ${way}`), ...ways.map((way) => `other era, ${way}`)];
  const rows = sets.map((set) => {
    const total = set.scenarios.length;
    const passedAlone = set.scenarios.filter((scenario) => passes(alone(set).get(scenario))).length;
    const through = columns.map((column) => {
      const here = findings.filter((finding) => finding.set === set && columnOf(finding) === column);
      const passed = here.filter((finding) => finding.passed).length;
      return here.length === 0 ? '-' : `${passed}/${total}`;
    });
    return [set.name, `${passedAlone}/${total}`, ...through];
  });
  const all = [['set', 'alone', ...columns], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function columnOf({ set, target }: Finding): string {
  const era = relation(set, target) === 'sameEra' ? 'same era' : 'other era';
  return `${era}, ${target.transport}`;
}

import { beforeAll, expect, test } from 'vitest';
import { openDriver, type Through } from './client-driver.ts';
import { allRuns, applicable, runAll, type Run } from './client-runs.ts';
import { entryFor, idleEntries, readExceptions } from './exceptions.ts';
import { owned } from '../support/owned.ts';
import { openSuite, type Suite } from './suite.ts';

const exceptions = readExceptions();
let suite: Suite;
let all: Run[];

beforeAll(async () => {
  suite = await openSuite();
  all = await allRuns(suite);
}, 300_000);

test.each<Through>(['client', 'gateway'])(
  'B-1, B-6, C-1: the official conformance suite passes for the client (%s), except for known gaps',
  async (through) => {
    const { command } = owned(await openDriver(through));
    const runs = applicable(all, exceptions);
    const verdicts = await runAll(suite, runs, command, exceptions);
    const failed = verdicts.filter(({ verdict }) => verdict !== 'pass');
    const isGap = ({ scenario }: Run): boolean => entryFor(exceptions.gaps, scenario) !== undefined;
    expect(failed.filter((run) => !isGap(run))).toEqual([]);
    expect(failed.filter(isGap).map(({ scenario }) => scenario)).toEqual(
      runs.filter(isGap).map(({ scenario }) => scenario),
    );
    expect(verdicts.length).toBeGreaterThanOrEqual(50);
  },
  180_000,
);

test('B-1: every entry in the list of exceptions matches a scenario of the suite', () => {
  expect(
    idleEntries(
      exceptions,
      all.map(({ scenario }) => scenario),
    ),
  ).toEqual([]);
});

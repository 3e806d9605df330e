/**
 * The client scenarios of the official conformance suite, driven through `TaskClient`.
 *
 * `npm run conformance:client`, with `-- --through gateway` for the whole gateway with a plain client in front of it,
 * `-- --applicable` to leave out what does not apply, `-- --scenario NAME` for one.
 */
import { parseArgs } from 'node:util';
import { openDriver } from './client-driver.ts';
import { allRuns, applicable, runAll, type Verdict } from './client-runs.ts';
import { entryFor, idleEntries, readExceptions } from './exceptions.ts';
import { openSuite } from './suite.ts';

const { values } = parseArgs({
  options: {
    through: { type: 'string', default: 'client' },
    applicable: { type: 'boolean', default: false },
    scenario: { type: 'string' },
  },
});

const { through } = values;
if (through !== 'client' && through !== 'gateway') throw new Error('--through client, or --through gateway');

const exceptions = readExceptions();
let surprises = 0;

function tell({ scenario, revision, verdict, passed, checks, complaints }: Verdict): void {
  const beside = entryFor(exceptions.notApplicable, scenario) !== undefined;
  const gap = entryFor(exceptions.gaps, scenario);
  const excused = beside || gap !== undefined;
  const expected = excused !== (verdict === 'pass');
  const word = excused && expected ? (beside ? 'not applicable' : 'gap') : verdict;
  const reason = expected && gap !== undefined ? ` (${exceptions.gaps[gap]})` : '';
  console.log(`${word.padEnd(14)}  ${revision}  ${scenario}: ${passed}/${checks}${reason}`);
  if (expected) return;
  surprises += 1;
  if (excused) console.log('    It passes: take it out of client-exceptions.json.');
  for (const each of complaints) console.log(`    ${each.replaceAll('\n', '\n    ')}`);
}

const began = Date.now();
const suite = await openSuite();
const all = await allRuns(suite);
const driver = await openDriver(through);
const wanted = (values.applicable ? applicable(all, exceptions) : all).filter(
  ({ scenario }) =>
    values.scenario === undefined || scenario === values.scenario || scenario.startsWith(`${values.scenario}/`),
);
const verdicts = await runAll(suite, wanted, driver.command, exceptions, tell);
await driver.close();

const names = all.map(({ scenario }) => scenario);
for (const name of idleEntries(exceptions, names)) {
  surprises += 1;
  console.log(`client-exceptions.json speaks of '${name}', which the suite does not have`);
}
const judged = verdicts.filter(({ scenario }) => entryFor(exceptions.notApplicable, scenario) === undefined);
const passed = judged.filter(({ verdict }) => verdict === 'pass').length;
const seconds = Math.round((Date.now() - began) / 1000);
console.log(`PASSED ${passed} of ${judged.length} scenarios; ${surprises} unexpected; ${seconds} s`);
process.exitCode = surprises === 0 && verdicts.length > 0 ? 0 : 1;

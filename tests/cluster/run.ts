/**
 * `npm run test:cluster -- --faults 500 --seed 1`: rounds of faults on three gateways, each with a seed of its own that
 * makes the same choices again. `--mutate NAME` runs them on a program with a mistake, to see that it is found.
 */
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle } from '../support/build.ts';
import type { FaultKind } from '../crash/history.ts';
import { FAULT_KINDS } from './faults.ts';
import { buildMutant } from './mutations.ts';
import { clusterRound } from './round.ts';

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '500' },
    seed: { type: 'string' },
    /** Faults of one round. */
    round: { type: 'string', default: '25' },
    lease: { type: 'string', default: '2000' },
    gateways: { type: 'string', default: '3' },
    /** Kinds of faults, with commas between them. */
    only: { type: 'string' },
    mutate: { type: 'string' },
    light: { type: 'boolean', default: false },
  },
});
const faults = Number(values.faults);
const perRound = Number(values.round);
const first = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed);
const totals: Record<string, number> = {};
let broken = 0;

// An interrupted run takes its gateways and its database along.
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

await bundle('v1-stdio');
const program = values.mutate === undefined ? undefined : await buildMutant(values.mutate);
for (let round = 0; (totals['faults'] ?? 0) < faults; round += 1) {
  const seed = first + round;
  process.stdout.write(`seed ${seed}: `);
  const begun = Date.now();
  const report = await clusterRound({
    seed,
    faults: Math.min(perRound, faults - (totals['faults'] ?? 0)),
    kinds: values.only?.split(',').map(kindOf),
    leaseMs: Number(values.lease),
    gateways: Number(values.gateways),
    light: values.light,
    program,
  });
  for (const [name, count] of Object.entries(report.counts)) totals[name] = (totals[name] ?? 0) + count;
  broken += report.violations.length;
  process.stdout.write(`${summary(report.counts)}, ${Math.round((Date.now() - begun) / 1000)} s\n`);
  for (const violation of report.violations) process.stdout.write(`  BROKEN ${violation}\n`);
  if (report.violations.length > 0) {
    const file = join(tmpdir(), `meanwhile-cluster-${seed}.log`);
    await writeFile(file, report.log.join('\n'));
    process.stdout.write(
      `  everything is in ${file}; --seed ${seed} --faults ${perRound} makes the same choices again\n`,
    );
  }
}
process.stdout.write(`${broken === 0 ? 'nothing was lost' : `${broken} promises were broken`}: ${summary(totals)}\n`);
process.exitCode = broken === 0 ? 0 : 1;

function kindOf(name: string): FaultKind {
  const kind = FAULT_KINDS.find((each) => each === name);
  if (kind === undefined) throw new Error(`--only takes ${FAULT_KINDS.join(', ')}, not '${name}'`);
  return kind;
}

function summary(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** `npm run test:crash -- --kills 200 --seed 1`: rounds of kills, each with a seed of its own that repeats it. */
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { crashRound } from './crash.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    seed: { type: 'string' },
    /** Kills of one round. */
    round: { type: 'string', default: '20' },
  },
});
const kills = Number(values.kills);
const perRound = Number(values.round);
const first = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed);
const totals: Record<string, number> = {};
let broken = 0;

for (let round = 0; (totals['kill'] ?? 0) < kills; round += 1) {
  const seed = first + round;
  process.stdout.write(`seed ${seed}: `);
  const report = await crashRound({ seed, kills: Math.min(perRound, kills - (totals['kill'] ?? 0)) });
  for (const [name, count] of Object.entries(report.counts)) totals[name] = (totals[name] ?? 0) + count;
  broken += report.violations.length;
  process.stdout.write(`${summary(report.counts)}\n`);
  for (const violation of report.violations) process.stdout.write(`  BROKEN ${violation}\n`);
  if (report.violations.length > 0) {
    const file = join(tmpdir(), `meanwhile-crash-${seed}.log`);
    await writeFile(file, report.log.join('\n'));
    process.stdout.write(
      `  what the gateway logged is in ${file}; --seed ${seed} --kills ${perRound} repeats the round\n`,
    );
  }
}
process.stdout.write(`${broken === 0 ? 'nothing was lost' : `${broken} promises were broken`}: ${summary(totals)}\n`);
process.exitCode = broken === 0 ? 0 : 1;

function summary(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

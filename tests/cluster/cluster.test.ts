import { expect, test } from 'vitest';
import { clusterRound } from './round.ts';

/** One of each kind. */
const FAULTS = 7;
const LEASE_MS = 2000;

test('K-2, K-3, K-5, K-6, K-7, K-8: no work is lost, repeated or reported twice under random faults', async () => {
  const seed = Number(process.env['CLUSTER_SEED'] ?? 13);
  const repeat = `npm run test:cluster -- --seed ${seed} --faults ${FAULTS} --round ${FAULTS} --lease ${LEASE_MS} --light`;
  process.stdout.write(`cluster test: ${repeat}\n`);
  const { violations, counts } = await clusterRound({ seed, faults: FAULTS, leaseMs: LEASE_MS, light: true });
  expect(violations, `${JSON.stringify(counts)}; ${repeat} makes the same choices again`).toEqual([]);
  // It was a test only if something happened.
  for (const kind of [
    'kill',
    'pause',
    'stop',
    'partition',
    'cut',
    'database restart',
    'slow database',
    'tasks',
    'direct',
  ]) {
    expect(counts[kind], kind).toBeGreaterThan(0);
  }
}, 300_000);

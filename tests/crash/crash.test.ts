import { expect, test, vi } from 'vitest';
import { crashRound } from './crash.ts';

const KILLS = 10;

function handles(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap' || kind === 'ProcessWrap');
}

test('P-1, P-2, P-3, E-1, S-1, B-3: no work is lost, repeated or reported twice when the gateway is killed', async () => {
  const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 1_000_000));
  const repeat = `npm run test:crash -- --seed ${seed} --kills ${KILLS} --round ${KILLS}`;
  // First, so that it is known also when nothing else is.
  process.stdout.write(`crash test: ${repeat}\n`);
  const before = handles();
  const { violations, counts } = await crashRound({ seed, kills: KILLS });
  expect(violations, `${JSON.stringify(counts)}; ${repeat} makes the same choices again`).toEqual([]);
  // It was a test only if something happened.
  expect(counts['kill']).toBe(KILLS);
  expect(counts['tasks']).toBeGreaterThan(0);
  expect(counts['events']).toBeGreaterThan(0);
  await vi.waitFor(() => expect(handles()).toEqual(before), 10_000);
}, 120_000);

import { expect, test } from 'vitest';
import { hubOverStdio, type ClientKind } from '../../support/hub.ts';
import { JumpingClock } from '../../support/jumping-clock.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask } from '../servers/activity.ts';

const IDLE_MS = 60_000;
const KINDS: ClientKind[] = ['v1', 'modern'];

test.each(KINDS)('S-5, S-4: over stdio the session does not end when it is idle (%s)', async (kind) => {
  const clock = new JumpingClock();
  const sessions = { idleMs: IDLE_MS, checkMs: IDLE_MS };
  // The server is not checked meanwhile: to its pings the jumps would look like silence.
  const settings = { sessions, servers: { pingMs: 100 * IDLE_MS } };
  const hub = await hubOverStdio({ one: v1Stdio() }, settings, kind, clock);
  const pid = await ask(hub, 'one', 'pid');
  for (let checks = 0; checks < 5; checks += 1) clock.jump(IDLE_MS);
  expect(await ask(hub, 'one', 'pid')).toBe(pid);
});

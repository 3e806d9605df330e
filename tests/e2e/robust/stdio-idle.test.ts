import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { hubOverStdio, type ClientKind } from '../../support/hub.ts';
import { v1Stdio } from '../../support/servers.ts';
import { ask } from '../servers/activity.ts';

const IDLE_MS = 200;
const KINDS: ClientKind[] = ['v1', 'modern'];

test.each(KINDS)('S-5, S-4: over stdio the session lasts as long as the connection (%s)', async (kind) => {
  const hub = await hubOverStdio({ one: v1Stdio() }, { sessions: { idleMs: IDLE_MS, checkMs: 20 } }, kind);
  const pid = await ask(hub, 'one', 'pid');
  // That something does not happen can only be seen by giving it time.
  await delay(5 * IDLE_MS);
  expect(await ask(hub, 'one', 'pid')).toBe(pid);
});

import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { every } from '../lib/timers.ts';
import type { Store } from './ports/store.ts';
import type { LiveSessions } from './session/live-sessions.ts';
import type { CoreSettings } from './settings.ts';

/** How long after the start a disabled history is deleted. */
const CLEAR_MS = 250;

interface HousekeepingParts {
  store: Store;
  sessions: LiveSessions;
  /** When the gateway started. */
  startedAt: number;
  settings: CoreSettings;
  log: Log;
  clock: Clock;
}

/** Periodically ends idle sessions and deletes expired records. Returns a function that stops it. */
export function startHousekeeping(parts: HousekeepingParts): (() => void)[] {
  const { settings, clock } = parts;
  const { sessions, tasks, history } = settings;
  return [
    ...(history.keepMs === 0 ? [clock.after(CLEAR_MS, () => clearHistory(parts), { unref: true })] : []),
    every(sessions.checkMs, () => endIdle(parts), clock),
    every(tasks.cleanupMs, () => cleanUp(parts), clock),
  ];
}

/** Deletes the entries written before the history was turned off. */
function clearHistory({ store: { history }, log, clock }: HousekeepingParts): void {
  const clear = async (): Promise<void> => {
    await history.endLost(clock.now());
    await history.trim(Infinity, 0);
  };
  clear().catch((error: unknown) => log.warn('history_clean_up_failed', { error: messageOf(error) }));
}

function cleanUp({ store, sessions, log, clock }: HousekeepingParts): void {
  const now = clock.now();
  for (const session of sessions.all()) {
    session.tasks.sweep(now);
    session.interactions.sweep();
  }
  store.dropOverdue(now).catch((error: unknown) => log.error('clean_up_failed', { error: messageOf(error) }));
}

function endIdle({ store, sessions, startedAt, settings, log, clock }: HousekeepingParts): void {
  const before = clock.now() - settings.sessions.idleMs;
  // While the program was not running, no client could be active.
  if (startedAt <= before) {
    store.dropIdle(before).catch((error: unknown) => log.error('clean_up_failed', { error: messageOf(error) }));
  }
  for (const session of sessions.all()) {
    // A session that was busy until now is not idle yet: its client has had no time to fetch the result.
    if (session.busy) session.presence.postponeIdle();
    if (session.lastActiveAt > before) {
      // After a crash, the next gateway can tell how long the client has been away.
      session.save();
      continue;
    }
    log.info('session_timeout_cleanup', { sessionId: session.id });
    sessions.end(session, 'the session was idle').catch((error: unknown) => {
      log.error('session_end_failed', { sessionId: session.id, error: messageOf(error) });
    });
  }
}

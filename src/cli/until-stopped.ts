import type { Log } from '../lib/log.ts';
import { within } from '../lib/timers.ts';

const DEADLINE_MS = 4500;

/** Resolves on a signal to stop, or when `other` resolves. */
export async function untilStopped(other: Promise<void> = new Promise(() => {})): Promise<string> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => resolve(signal);
    // Never removed: a parent process may forward a signal that we also received, and that must not kill us.
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    void other.then(() => resolve('end of input'));
  });
}

/** Closes, but gives up before a process manager would kill the program; `drainMs` is what calls may take before. */
export async function closeInTime(close: () => Promise<void>, log: Log, drainMs = 0): Promise<number> {
  const deadlineMs = drainMs + DEADLINE_MS;
  const closed = await within(
    deadlineMs,
    close().then(() => true),
  );
  if (!closed) log.warn('shutdown_incomplete', { deadlineMs });
  return 0;
}

import type { Log } from '../lib/log.ts';

const DEADLINE_MS = 4500;

/** Resolves when the program is told to stop, or when `other` is over. */
export async function untilStopped(other: Promise<void> = new Promise(() => {})): Promise<string> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => resolve(signal);
    // For good: whoever started us may pass on a signal that we got ourselves, and a second one must not cut us short.
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    void other.then(() => resolve('end of input'));
  });
}

/** Closes, but never takes longer than somebody who stopped us is ready to wait. */
export async function closeInTime(close: () => Promise<void>, log: Log): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), DEADLINE_MS);
  });
  const outcome = await Promise.race([close(), late]);
  clearTimeout(timer);
  if (outcome === 'late') log.warn('shutdown_incomplete', { deadlineMs: DEADLINE_MS });
  return 0;
}

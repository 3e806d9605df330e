import type { Clock } from '../../lib/clock.ts';

/** Waits for a while, or until there is news; throws the signal's reason once that is aborted. */
export async function pause(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  ...news: (Promise<unknown> | undefined)[]
): Promise<void> {
  signal.throwIfAborted();
  let cancel = (): void => {};
  let give = (): void => {};
  const waited = new Promise<void>((resolve) => {
    give = resolve;
    cancel = clock.after(ms, resolve);
  });
  signal.addEventListener('abort', give, { once: true });
  try {
    await Promise.race([waited, ...news.filter((each) => each !== undefined)]);
  } finally {
    cancel();
    signal.removeEventListener('abort', give);
  }
  signal.throwIfAborted();
}

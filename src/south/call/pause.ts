import { clampDelay } from '../../lib/clock.ts';

/** Waits for a while, or until there is news; throws the signal's reason once that is aborted. */
export async function pause(ms: number, signal: AbortSignal, ...news: (Promise<unknown> | undefined)[]): Promise<void> {
  signal.throwIfAborted();
  let timer: NodeJS.Timeout | undefined;
  let give = (): void => {};
  const waited = new Promise<void>((resolve) => {
    give = resolve;
    timer = setTimeout(resolve, clampDelay(ms));
  });
  signal.addEventListener('abort', give, { once: true });
  try {
    await Promise.race([waited, ...news.filter((each) => each !== undefined)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', give);
  }
  signal.throwIfAborted();
}

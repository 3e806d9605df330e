import { whenAborted, type StopSignal } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';

/** Waits for a while, or until there is news; throws the signal's reason once that is aborted. */
export async function pause(
  clock: Clock,
  ms: number,
  signal: StopSignal,
  ...news: (Promise<unknown> | undefined)[]
): Promise<void> {
  signal.throwIfAborted();
  let cancel = (): void => {};
  let forget = (): void => {};
  const waited = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
    forget = whenAborted(signal, resolve);
  });
  await Promise.race([waited, ...news.filter((each) => each !== undefined)]).finally(() => {
    cancel();
    forget();
  });
  signal.throwIfAborted();
}

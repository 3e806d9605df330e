import type { Progress } from '../core/ports.ts';
import type { Exchange } from './exchange.ts';

const BEAT_MS = 10_000;
const SMALLEST_STEP = 0.001;

/**
 * Runs something that may take long while its client waits. A client that asked for progress hears something at least
 * every ten seconds, so that one that resets its timer on progress stays. What is sent never goes back. `marked` adds to each report what the
 * client needs to know of it.
 */
export async function whileWaiting<T>(
  exchange: Exchange,
  what: string,
  work: (onProgress: (progress: Progress) => void) => Promise<T>,
  marked: (progress: Progress) => Progress = (progress) => progress,
): Promise<T> {
  const send = exchange.progress;
  if (send === undefined) return work(() => {});
  const started = Date.now();
  let last: number | undefined;
  let lastTotal: number | undefined;
  const report = (progress: Progress): void => {
    if (!exchange.reaches) return;
    last = last === undefined ? progress.progress : Math.max(progress.progress, last + SMALLEST_STEP);
    lastTotal = progress.total;
    beat.refresh();
    send(marked({ ...progress, progress: last }));
  };
  const beat = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1000);
    // Past its own total there is none that would make sense.
    const total = lastTotal !== undefined && (last ?? 0) < lastTotal ? lastTotal : undefined;
    report({ progress: last ?? 0, total, message: `${what}: ${seconds} s` });
  }, BEAT_MS);
  try {
    return await work(report);
  } finally {
    clearInterval(beat);
  }
}

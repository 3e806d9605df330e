import { cancelledByClient } from '../core/call/request.ts';
import type { Progress } from '../core/ports/connection.ts';
import type { Session } from '../core/session/session.ts';
import { isBigNumber, nearestNumber } from '../lib/exact-json.ts';
import type { Clock } from '../lib/clock.ts';
import type { Exchange } from './exchange.ts';

const BEAT_MS = 10_000;
const SMALLEST_STEP = 0.001;

/**
 * Runs long work while its client waits. A client that requested progress gets a report at least every
 * ten seconds, so that clients that reset their timer on progress keep waiting. Progress never decreases. `marked` adds to
 * metadata to each report.
 */
export function whileWaiting<T>(
  waiting: { clock: Clock; exchange: Exchange },
  what: string,
  work: (onProgress: (progress: Progress) => void) => Promise<T>,
  marked: (progress: Progress) => Progress = (progress) => progress,
): Promise<T> {
  const send = waiting.exchange.progress;
  return send === undefined ? work(ignore) : withReports(waiting, what, work, (report) => send(marked(report)));
}

const ignore = (): void => {};

async function withReports<T>(
  { clock, exchange }: { clock: Clock; exchange: Exchange },
  what: string,
  work: (onProgress: (progress: Progress) => void) => Promise<T>,
  send: (progress: Progress) => void,
): Promise<T> {
  const started = clock.now();
  let quietSince = started;
  let stopBeat = (): void => {};
  let last: number | undefined;
  let lastTotal: Progress['total'];
  const report = (progress: Progress): void => {
    if (!exchange.reaches) return;
    const reported = nearestNumber(progress.progress) ?? 0;
    // Different big numbers may round to the same number.
    const least = last === undefined ? reported : isBigNumber(progress.progress) ? last : last + SMALLEST_STEP;
    last = Math.max(reported, least);
    lastTotal = progress.total;
    quietSince = clock.now();
    send(reported >= least ? progress : { ...progress, progress: last });
  };
  // Progress only delays the next beat: frequent reports must not create a timer each.
  const beat = (): void => {
    const now = clock.now();
    if (now - quietSince >= BEAT_MS) {
      quietSince = now;
      // A total below the progress would make no sense.
      const total = (last ?? 0) < (nearestNumber(lastTotal) ?? 0) ? lastTotal : undefined;
      report({ progress: last ?? 0, total, message: `${what}: ${Math.round((now - started) / 1000)} s` });
    }
    arm();
  };
  const arm = (): void => {
    stopBeat = clock.after(quietSince + BEAT_MS - clock.now(), beat, { unref: true });
  };
  arm();
  try {
    return await work(report);
  } finally {
    stopBeat();
  }
}

/** A client waiting for a task. */
interface WaitingClient {
  session: Session;
  exchange: Exchange;
  onProgress: (progress: Progress) => void;
}

/** Cancels a task if the client cancels the request with which it waits for the task. */
export async function cancelledWith<T>(
  exchange: Exchange,
  { calls }: Session,
  taskId: string,
  work: () => Promise<T>,
): Promise<T> {
  const stopListening = exchange.onLeaving((leaving, words) => {
    if (leaving === 'cancelled') calls.cancel(taskId, cancelledByClient(words));
  });
  return work().finally(stopListening);
}

/** The same, and the client gets the progress of the task. */
export async function withTaskUpdates<T>(
  { session, exchange, onProgress }: WaitingClient,
  taskId: string,
  work: () => Promise<T>,
): Promise<T> {
  const stopProgress = session.calls.onProgress(taskId, onProgress);
  return cancelledWith(exchange, session, taskId, work).finally(stopProgress);
}

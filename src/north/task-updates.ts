import { cancelledByClient } from '../core/call/request.ts';
import type { Progress } from '../core/ports.ts';
import type { Session } from '../core/session/session.ts';
import type { Exchange } from './exchange.ts';

/** Whose client waits, and what tells it of progress. */
export interface WaitingClient {
  session: Session;
  exchange: Exchange;
  onProgress: (progress: Progress) => void;
}

/** While a client waits for a task, it hears what that tells, and can cancel it. */
export async function withTaskUpdates<T>(
  { session, exchange, onProgress }: WaitingClient,
  taskId: string,
  work: () => Promise<T>,
): Promise<T> {
  const stopHearing = session.calls.onProgress(taskId, onProgress);
  const stopListening = exchange.onLeaving((leaving, words) => {
    if (leaving === 'cancelled') session.calls.cancel(taskId, cancelledByClient(words));
  });
  return work().finally(() => {
    stopHearing();
    stopListening();
  });
}

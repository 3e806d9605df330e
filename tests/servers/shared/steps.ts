import { setTimeout as delay } from 'node:timers/promises';

export interface StepsTold {
  /** What the client wants to hear of progress by, if it does. */
  progressToken: string | number | undefined;
  tell: (notification: {
    method: 'notifications/progress';
    params: { progressToken: string | number; progress: number; total: number; message: string };
  }) => Promise<void>;
  signal: AbortSignal;
}

/** Works for `ms`, and tells of each step where steps are asked for. */
export async function workInSteps(
  { ms, steps }: { ms: number; steps?: number | undefined },
  { progressToken, tell, signal }: StepsTold,
): Promise<void> {
  const total = steps ?? 1;
  // Each notification before its step: clients lose one that comes together with the result.
  for (let progress = 1; progress <= total; progress += 1) {
    if (steps !== undefined && progressToken !== undefined) {
      const params = { progressToken, progress, total, message: `step ${progress}` };
      await tell({ method: 'notifications/progress', params });
    }
    await delay(ms / total, undefined, { signal });
  }
}

import type { Gateway } from '../../../core/gateway.ts';
import type { CallResult } from '../../../core/task/task.ts';
import type { ResultWork } from './work.ts';

/** `undefined` if the task has no result or is no longer stored. */
export async function resultHere(
  gateway: Gateway,
  { sessionId, owner, taskId }: ResultWork,
): Promise<CallResult | undefined> {
  const session = await gateway.restore(sessionId, owner);
  const task = session?.tasks.find(taskId);
  return task?.status === 'completed' ? task.result : undefined;
}

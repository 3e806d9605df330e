import type { Gateway } from '../../../core/gateway.ts';
import { ApiError } from '../api-error.ts';
import type { Person } from '../person.ts';
import { whenStored } from '../../commit-gate.ts';
import type { CancelWork } from './work.ts';

/** Cancels a call, or the task that it became. */
export async function cancelHere(gateway: Gateway, { principal }: Person, work: CancelWork): Promise<void> {
  const { sessionId, owner, callId, taskId } = work;
  const session = await gateway.restore(sessionId, owner);
  const reason = `cancelled by ${principal} in the console`;
  if (session === undefined || !cancelled()) throw alreadyEnded();
  await whenStored([session]);
  await gateway.recorder?.flush();

  function cancelled(): boolean {
    if (session === undefined) return false;
    const task = taskId ?? session.calls.taskOf(callId);
    if (task === undefined) return session.calls.cancelOpen(callId, reason);
    return session.tasks.find(task) !== undefined && session.calls.cancel(task, reason) !== undefined;
  }
}

/** The route adds the call. */
export const alreadyEnded = (): ApiError =>
  new ApiError(409, 'already_ended', 'the call has ended; nothing was cancelled');

/**
 * Handles replies that do not reach their client. The work is done and must not be lost: a result is kept as a task,
 * and a task is marked as abandoned, so that an identical call of the same program takes it over. A client that
 * cancelled wants neither. A client that left may resume the stream of its request, and so still get the reply.
 */
import type { CallMade } from '../core/call/request.ts';
import type { Session } from '../core/session/session.ts';
import type { CallResult } from '../core/task/task.ts';
import type { Exchange } from './exchange.ts';

interface Recipient {
  session: Session;
  exchange: Exchange;
}

/** The reply is the result of a call. `onDelivered` is called if the client gets it after it was kept as a task. */
export function deliverResult(
  { session, exchange }: Recipient,
  made: CallMade,
  result: CallResult,
  onDelivered = (taskId: string): void => session.tasks.delivered(taskId),
): void {
  exchange.whenSettled((delivered) => {
    if (delivered || exchange.cancelled) return;
    const taskId = session.calls.keepResult(made, result);
    if (taskId !== undefined) exchange.onDelivered(() => onDelivered(taskId));
  });
}

/** The reply to a call is its task, or the end of that task. `onDelivered` is called when the client has it. */
export function deliverTask(
  { session: { tasks }, exchange }: Recipient,
  taskId: string,
  onDelivered = (): void => tasks.setAbandoned(taskId, false),
): void {
  exchange.whenSettled((delivered) => {
    if (!delivered && !exchange.cancelled) tasks.setAbandoned(taskId, true);
  });
  exchange.onDelivered(onDelivered);
}

/** The reply reports the end of a task to a client that knows the task. */
export function deliverTaskEnd({ session: { tasks }, exchange }: Recipient, taskId: string): void {
  exchange.onDelivered(() => tasks.markRead(taskId));
}

import { LEAVE_RUNNING, type CallOutcome, type ConnectionSink, type OutgoingCall } from '../core/ports/connection.ts';
import type { Interaction } from '../core/interaction/interaction.ts';
import { hasEnded, type EndedTask } from '../core/task/task.ts';
import { protocolTask } from '../core/task/protocol-task.ts';
import { messageOf } from '../lib/log.ts';
import { rpcFailure, RpcError } from '../lib/rpc-error.ts';
import { sendQuestion, type Capabilities } from './client-question.ts';
import { inAppTask } from './resume-point.ts';
import { abortSignalOf } from '../lib/abort.ts';
import { failed, reasonOf } from './run.ts';
import type { StoredTasks } from './task-controller.ts';

/** Waits for a task of the application on behalf of a call. Questions of the task go to the client of the call. */
export async function followAppTask(
  tasks: StoredTasks,
  taskId: string,
  call: OutgoingCall,
  sink: ConnectionSink,
  capabilities: Capabilities | undefined,
): Promise<CallOutcome> {
  const begun = tasks.get(taskId);
  if (begun === undefined) return failed(`task '${taskId}' not found: it has ended, or belongs to another controller`);
  await call.listener.onCheckpoint(inAppTask(taskId, capabilities));
  const passOn = async (question: Interaction, over: AbortSignal): Promise<void> => {
    const { id, kind, params, key = id } = question;
    const taken = new AbortController();
    try {
      const asked = { kind, params, key, callId: call.id, withdrawn: over, detached: true, taken: taken.signal };
      await tasks.answer(question, await sendQuestion(sink, capabilities, asked));
      taken.abort();
    } catch (error) {
      // The question was answered elsewhere, or the call has ended.
      if (over.aborted || call.signal.aborted) return;
      const failure = error instanceof RpcError ? rpcFailure(error) : { code: -32000, message: messageOf(error) };
      tasks.refuse(question, failure);
    }
  };
  const stopWatching = tasks.watch((task) => {
    if (task.id === taskId) call.listener.onTask(protocolTask(task));
  });
  call.listener.onTask(protocolTask(begun));
  const unregister = tasks.register(taskId, (question, over) => {
    void passOn(question, over);
    return true;
  });
  call.listener.onAllAsked?.();
  try {
    const task = await tasks.until(taskId, hasEnded, { signal: abortSignalOf(call.signal) });
    if (hasEnded(task)) return outcomeOf(task);
    // The call ended before its task, or the task controller was closed.
    const stopped = call.signal.aborted && call.signal.reason !== LEAVE_RUNNING;
    if (stopped) await tasks.cancel(taskId, reasonOf(call.signal));
    return { kind: 'lost', reason: call.signal.aborted ? reasonOf(call.signal) : 'the tasks were closed' };
  } finally {
    stopWatching();
    unregister();
  }
}

function outcomeOf(task: EndedTask): CallOutcome {
  switch (task.status) {
    case 'completed':
      return { kind: 'result', result: task.result };
    case 'cancelled':
      return { kind: 'cancelled', reason: task.statusMessage ?? 'no reason was given' };
    case 'failed':
    case 'expired':
      return { kind: 'error', error: task.error };
  }
}

import { LEAVE_RUNNING, type CallOutcome, type OutgoingCall } from '../../core/ports/connection.ts';
import { signInIn } from '../../core/sign-in/required.ts';
import type { StopSignal } from '../../lib/abort.ts';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../../lib/rpc-error.ts';
import { timeoutSignal } from '../../lib/timers.ts';
import { ErrorResponse } from '../peer/errors.ts';
import { serverTaskEnded, readServerTask, ProtocolViolation } from '../server-task.ts';
import { CoreTask } from './core-task.ts';
import { ExtensionTask } from './extension-task.ts';
import { failure, ServerUnavailable, isTimeout, retryThroughDisconnects, type CallChannel } from './channel.ts';
import type { RunningCall } from './running-calls.ts';
import { pause } from './pause.ts';
import { inTask, type TaskResumePoint } from './resume-point.ts';
import type { TaskKind } from './task-kind.ts';

const DEFAULT_POLL_MS = 1000;
const MIN_POLL_MS = 10;
const MIN_NEWS_MS = 50;
const MAX_POLL_MS = 300_000;
const CANCEL_TIMEOUT_MS = 5000;
const CANCEL_LATE_MS = 120_000;
/** In task requests the id is the only parameter, so invalid params mean an unknown task. */
const UNKNOWN_TASK = INVALID_PARAMS;
/** How many times in a row a server may leave `tasks/get` unanswered. */
const MAX_SILENCES = 3;

/**
 * Follows a native task to its end. Polls at the server's interval, and immediately when the server reports a change. A lost
 * connection does not end the task: polling continues once the server is back.
 */
export async function followServerTask(
  channel: CallChannel,
  live: RunningCall,
  from: TaskResumePoint,
  firstRaw?: Record<string, unknown>,
): Promise<CallOutcome> {
  const { call } = live;
  const { taskId } = from;
  live.native = true;
  live.taskId = taskId;
  const over = new AbortController();
  let kind: TaskKind | undefined;
  try {
    const offer = await retryThroughDisconnects(channel, call.signal, async () => (await channel.attempt()).offer);
    if (offer === undefined) throw new ProtocolViolation('the server does not support tasks');
    kind = offer.generation === 'core' ? new CoreTask(channel, live, from) : new ExtensionTask(channel, live, taskId);
    await call.listener.onCheckpoint(inTask(kind.checkpoint));
    // The response that creates a task of the extension has its status, but neither a result nor a question.
    const tells = offer.generation === 'core' || firstRaw?.['status'] === 'working';
    let raw = tells && !live.early?.has(taskId) ? firstRaw : undefined;
    let told: string | undefined;
    for (;;) {
      // Created before polling: a notification that arrives meanwhile may be newer than the response.
      live.news = new Promise((resolve) => {
        live.ring = resolve;
      });
      const asked = channel.clock.now();
      raw ??= await retryThroughDisconnects(channel, call.signal, () => read(channel, taskId, call.signal));
      const task = readServerTask(raw, 'tasks/get');
      if (task.taskId !== taskId)
        throw new ProtocolViolation(`the server answered a request for the task '${taskId}' with '${task.taskId}'`);
      const state = JSON.stringify(task);
      if (state !== told) call.listener.onTask(task);
      if (!serverTaskEnded(task)) channel.listenForTask(taskId, over.signal);
      told = state;
      const outcome = await kind.act(task, raw);
      if (outcome !== undefined) {
        // The result may overtake the response to an earlier `tasks/get`.
        if (!serverTaskEnded(task)) await tellEnd(channel, call, taskId);
        return outcome;
      }
      const interval = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, task.pollInterval ?? DEFAULT_POLL_MS));
      await pause(channel.clock, interval, call.signal, live.news, kind.news);
      // A server that sends a notification for every poll must not cause endless polling.
      await pause(channel.clock, Math.min(interval, asked + MIN_NEWS_MS - channel.clock.now()), call.signal);
      raw = undefined;
    }
  } catch (error) {
    // A task that cannot be followed is cancelled: its result would never be fetched.
    const unwanted = call.signal.aborted ? call.signal.reason !== LEAVE_RUNNING : isAstray(error);
    if (unwanted) await cancel(channel, taskId);
    if (call.signal.aborted) return { kind: 'error', error: { code: -32000, message: 'cancelled' } };
    return failure(error);
  } finally {
    over.abort();
    kind?.stop();
  }
}

/** The server is reachable and has the task, but the task cannot be followed to its end. */
function isAstray(error: unknown): boolean {
  if (error instanceof ErrorResponse) return error.code !== UNKNOWN_TASK && error.code !== METHOD_NOT_FOUND;
  // After the sign-in the task is followed again.
  return !(error instanceof ServerUnavailable) && signInIn(error) === undefined;
}

/** Cancels without waiting: a disconnected server gets the cancellation when it is back. */
async function cancel(channel: CallChannel, taskId: string): Promise<void> {
  const send = async (): Promise<void> => {
    const attempt = await channel.attempt();
    if (attempt.offer?.cancel !== true) return;
    await attempt.request('tasks/cancel', { taskId }, { timeoutMs: CANCEL_TIMEOUT_MS });
  };
  await send().catch((error: unknown) => {
    // Any other error means that the task has ended or cannot be cancelled: the call has ended anyway.
    if (!(error instanceof ServerUnavailable) || channel.closed) return;
    const late = timeoutSignal(CANCEL_LATE_MS, channel.clock);
    retryThroughDisconnects(channel, late.signal, send)
      .catch(() => {})
      .finally(late.cancel);
  });
}

/** Reports the final status of a task whose outcome is already known. */
async function tellEnd(channel: CallChannel, call: OutgoingCall, taskId: string): Promise<void> {
  const { signal, listener } = call;
  try {
    const raw = await channel.request('tasks/get', { taskId }, { signal, timeoutMs: channel.pollTimeoutMs });
    listener.onTask(readServerTask(raw, 'tasks/get'));
  } catch {
    // Some servers forget a task once its result was fetched; the outcome is still valid.
  }
}

/** Polls the task. */
async function read(channel: CallChannel, taskId: string, signal: StopSignal): Promise<Record<string, unknown>> {
  for (let silences = 1; ; silences += 1) {
    try {
      return await channel.request('tasks/get', { taskId }, { signal, timeoutMs: channel.pollTimeoutMs });
    } catch (error) {
      if (signal.aborted || !isTimeout(error)) throw explained(error, taskId);
      if (silences >= MAX_SILENCES) {
        throw new ProtocolViolation(
          `the server did not answer tasks/get for its task '${taskId}' ${silences} times in a row`,
        );
      }
    }
  }
}

function explained(error: unknown, taskId: string): unknown {
  if (!(error instanceof ErrorResponse)) return error;
  return new ErrorResponse(error.code, `${trouble(error.code, taskId)}: ${error.message}`, error.data);
}

function trouble(code: number, taskId: string): string {
  if (code === METHOD_NOT_FOUND) return `the server created the task '${taskId}', but does not support tasks/get`;
  if (code === UNKNOWN_TASK) return `the server no longer knows its task '${taskId}'`;
  return `the server does not report the status of its task '${taskId}'`;
}

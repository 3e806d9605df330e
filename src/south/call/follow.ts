import { ProtocolError } from '@modelcontextprotocol/client';
import { LEAVE_RUNNING, type CallOutcome, type ServerTask } from '../../core/ports.ts';
import { hasEnded, readServerTask, ServerFault, type TaskOffer } from '../server-task.ts';
import { CoreTask } from './core-task.ts';
import { ExtensionTask } from './extension-task.ts';
import { failure, Gone, isTimeout, throughLosses, type Line } from './line.ts';
import type { LiveCall } from './live-calls.ts';
import { pause } from './pause.ts';
import type { CallStanding, TaskStanding } from './standing.ts';
import type { TaskKind } from './task-kind.ts';

const DEFAULT_POLL_MS = 1000;
const MIN_POLL_MS = 10;
const MAX_POLL_MS = 300_000;
const CANCEL_TIMEOUT_MS = 5000;
/** So often in a row may a server leave the question how its task is doing without an answer. */
const MAX_SILENCES = 3;

/**
 * Brings a task that the server keeps to its end. The server is asked as often as it wants to be, and at once when it says
 * that something changed. Its loss does not end the task: once it is back, it is asked again.
 */
export async function followTask(
  line: Line,
  live: LiveCall,
  from: TaskStanding,
  firstRaw?: Record<string, unknown>,
): Promise<CallOutcome> {
  const { call } = live;
  const { taskId } = from;
  live.native = true;
  live.taskId = taskId;
  const over = new AbortController();
  let offer: TaskOffer | undefined;
  let kind: TaskKind | undefined;
  try {
    offer = await throughLosses(line, call.signal, () => line.taskOffer());
    if (offer === undefined) throw new ServerFault('the server keeps no tasks');
    kind = offer.generation === 'core' ? new CoreTask(line, live, from) : new ExtensionTask(line, live, taskId);
    await call.onStanding({ task: kind.standing } satisfies CallStanding);
    // What creates a task of the extension names its state, and no more: neither a result nor a question.
    const tells = offer.generation === 'core' || firstRaw?.['status'] === 'working';
    let raw = tells ? firstRaw : undefined;
    let told: string | undefined;
    for (;;) {
      raw ??= await throughLosses(line, call.signal, () => read(line, taskId, call.signal));
      const task = readServerTask(raw, 'tasks/get');
      if (task.taskId !== taskId)
        throw new ServerFault(`asked for the task '${taskId}', the server told of '${task.taskId}'`);
      const state = JSON.stringify(task);
      if (state !== told) call.onTask(task);
      if (!hasEnded(task)) line.listenForTask(taskId, over.signal);
      told = state;
      // Made before acting: what is told meanwhile must not be missed.
      live.news = new Promise((resolve) => {
        live.ring = resolve;
      });
      const outcome = await actUnlessGone(kind, task, raw);
      if (outcome !== undefined) return outcome;
      const interval = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, task.pollInterval ?? DEFAULT_POLL_MS));
      await pause(interval, call.signal, live.news, kind.news);
      raw = undefined;
    }
  } catch (error) {
    // One that went astray is stopped, too: nobody will ask for its result.
    const unwanted = call.signal.aborted
      ? call.signal.reason !== LEAVE_RUNNING
      : !(error instanceof Gone || error instanceof ProtocolError);
    if (unwanted && offer?.cancel) {
      await line.request('tasks/cancel', { taskId }, { timeoutMs: CANCEL_TIMEOUT_MS }).catch(() => {
        // Ended already, or it cannot be cancelled: the call is over all the same.
      });
    }
    if (call.signal.aborted) return { kind: 'error', error: { code: -32000, message: 'cancelled' } };
    return failure(error);
  } finally {
    over.abort();
    kind?.stop();
  }
}

/** Asks how the task is doing. */
async function read(line: Line, taskId: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  for (let silences = 1; ; silences += 1) {
    try {
      return await line.request('tasks/get', { taskId }, { signal, timeoutMs: line.pollTimeoutMs });
    } catch (error) {
      if (signal.aborted || !isTimeout(error)) throw explained(error, taskId);
      if (silences >= MAX_SILENCES) {
        throw new ServerFault(
          `the server left tasks/get for its task '${taskId}' unanswered ${silences} times in a row`,
        );
      }
    }
  }
}

function explained(error: unknown, taskId: string): unknown {
  if (!(error instanceof ProtocolError)) return error;
  return new ProtocolError(error.code, `${trouble(error.code, taskId)}: ${error.message}`, error.data);
}

function trouble(code: number, taskId: string): string {
  if (code === -32601) return `the server made the task '${taskId}', but does not know tasks/get`;
  if (code === -32602) return `the server does not know its task '${taskId}' any more`;
  return `the server does not tell how its task '${taskId}' is doing`;
}

/** A server that is lost in the middle is asked again when it is back. */
async function actUnlessGone(
  kind: TaskKind,
  task: ServerTask,
  raw: Record<string, unknown>,
): Promise<CallOutcome | undefined> {
  try {
    return await kind.act(task, raw);
  } catch (error) {
    if (error instanceof Gone) return undefined;
    throw error;
  }
}

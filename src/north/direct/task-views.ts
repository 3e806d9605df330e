/** The wire formats of tasks in both generations. */

import type { Interaction } from '../../core/interaction/interaction.ts';
import { hasSucceeded, type Task } from '../../core/task/task.ts';
import { protocolTask } from '../../core/task/protocol-task.ts';
import { inputRequests } from '../asking/asking.ts';

/** The suggested poll interval; listening clients are notified sooner. */
const POLL_MS = 500;

/** A task of the 2025-11-25 protocol, which counts a tool result that is an error as a failure. */
export function coreTask(task: Task): Record<string, unknown> {
  const isError = task.status === 'completed' && !hasSucceeded(task);
  return { ...protocolTask(task), ...(isError && { status: 'failed' }), pollInterval: POLL_MS };
}

/** A task of the 2026-07-28 extension. */
export function extensionTask(task: Task): Record<string, unknown> {
  const { ttl: ttlMs, ...view } = protocolTask(task);
  return { ...view, ttlMs, pollIntervalMs: POLL_MS };
}

/** The same with its questions, its result, or its error. */
export function detailedTask(task: Task, asked: ReadonlyMap<string, Interaction>): Record<string, unknown> {
  const view = extensionTask(task);
  switch (task.status) {
    case 'working':
    case 'cancelled':
      return view;
    case 'input_required':
      return { ...view, inputRequests: inputRequests(asked) };
    case 'completed':
      return { ...view, result: { resultType: 'complete', ...task.result } };
    case 'failed':
    case 'expired':
      return { ...view, error: task.error };
  }
}

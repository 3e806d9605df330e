import { isoTime } from '../../lib/clock.ts';
import type { ServerTask } from '../ports/connection.ts';
import { errorOfTask, type Task } from './task.ts';

/** A task as the protocol shows it, which has no status for expired tasks. */
export function protocolTask(task: Task): ServerTask {
  const { id: taskId, status, createdAt, updatedAt, ttlMs: ttl } = task;
  const statusMessage = task.statusMessage ?? errorOfTask(task)?.message;
  return {
    taskId,
    status: status === 'expired' ? 'failed' : status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: isoTime(createdAt),
    lastUpdatedAt: isoTime(updatedAt),
    ttl,
  };
}

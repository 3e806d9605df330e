import type { ServerTask } from '../core/ports/connection.ts';
import { nearestNumber } from '../lib/exact-json.ts';
import { LATEST_WITH_SESSIONS, MODERN_VERSION, TASKS_EXTENSION } from '../lib/protocol.ts';
import { isObject } from '../lib/values.ts';

/**
 * The two generations of native tasks. `core` is part of the 2025-11-25 protocol: the client asks for a task, and fetches
 * its result with `tasks/result`. `extension` is `io.modelcontextprotocol/tasks`: the server decides, and `tasks/get` returns
 * everything, questions included.
 */
export type TaskGeneration = 'core' | 'extension';

/** The protocol version each of them came with. */
export const GENERATION_DATES = { core: LATEST_WITH_SESSIONS, extension: MODERN_VERSION } as const;

const STATUSES = new Set<unknown>(['working', 'input_required', 'completed', 'failed', 'cancelled']);

/** For a server that sends no time. */
const UNKNOWN_TIME = new Date(0).toISOString();

/** The server violated the protocol. */
export class ProtocolViolation extends Error {}

/** How a server supports tasks for tool calls. */
export interface TaskOffer {
  generation: TaskGeneration;
  list: boolean;
  cancel: boolean;
}

export function taskOffer(modern: boolean, capabilities: Record<string, unknown>): TaskOffer | undefined {
  if (modern) {
    const offered = inside(capabilities, 'extensions', TASKS_EXTENSION) !== undefined;
    return offered ? { generation: 'extension', list: false, cancel: true } : undefined;
  }
  if (inside(capabilities, 'tasks', 'requests', 'tools', 'call') === undefined) return undefined;
  return {
    generation: 'core',
    list: inside(capabilities, 'tasks', 'list') !== undefined,
    cancel: inside(capabilities, 'tasks', 'cancel') !== undefined,
  };
}

/** Reads a task as either generation writes it. */
export function readServerTask(value: unknown, from: string): ServerTask {
  if (!isObject(value)) throw new ProtocolViolation(`the server's answer to ${from} is not a task`);
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = value;
  if (typeof taskId !== 'string' || taskId === '') {
    throw new ProtocolViolation(`the server's answer to ${from} is a task without a taskId`);
  }
  if (!STATUSES.has(status)) {
    throw new ProtocolViolation(
      `the server's answer to ${from} is a task with the unknown status ${JSON.stringify(status)}`,
    );
  }
  const ttl = value['ttl'] ?? value['ttlMs'];
  const pollInterval = nearestNumber(value['pollInterval'] ?? value['pollIntervalMs']);
  return {
    taskId,
    status: status as ServerTask['status'],
    ...(typeof statusMessage === 'string' && { statusMessage }),
    createdAt: typeof createdAt === 'string' ? createdAt : UNKNOWN_TIME,
    lastUpdatedAt: typeof lastUpdatedAt === 'string' ? lastUpdatedAt : UNKNOWN_TIME,
    ttl: nearestNumber(ttl) ?? null,
    ...(pollInterval !== undefined && pollInterval >= 0 && { pollInterval }),
  };
}

export function serverTaskEnded({ status }: ServerTask): boolean {
  return status !== 'working' && status !== 'input_required';
}

function inside(value: unknown, ...path: string[]): unknown {
  let at = value;
  for (const key of path) {
    if (!isObject(at)) return undefined;
    at = at[key];
  }
  return at;
}

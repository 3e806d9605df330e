import type { RequestId } from '@modelcontextprotocol/client';
import type { Round } from './rounds.ts';

/** Where a call stands: the server keeps it as a task, in a session of its own where it has such; or between two rounds. */
export type CallStanding = { task: TaskStanding } | { round: Round };

export interface TaskStanding {
  taskId: string;
  sessionId?: string;
  /** What the server has asked in that session and has no answer to. */
  asked?: AskedRequest[];
}

/** A server that asks with a request waits for the answer to that request, and does not ask again. */
export interface AskedRequest {
  id: RequestId;
  method: string;
  params: Record<string, unknown>;
}

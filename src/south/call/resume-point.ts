import type { RequestId } from '@modelcontextprotocol/client';
import type { InputRequired } from './rounds.ts';

/** Where a call continues: in a task that the server keeps, or between two rounds. */
export type CallResumePoint = { task: TaskResumePoint } | { round: InputRequired };

export interface TaskResumePoint {
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

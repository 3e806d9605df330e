import type { RequestId } from '@modelcontextprotocol/client';
import type { InputRequired } from './rounds.ts';

/** Where a call continues: in a task that the server keeps, or between two rounds. */
export type CallResumePoint = { task: TaskResumePoint } | { round: InputRequired };

export interface TaskResumePoint {
  taskId: string;
  sessionId?: string;
  /** Requests of the server in that session that have no answer yet. */
  asked?: AskedRequest[];
}

/** A request of the server. It waits for the answer to this request, and does not send it again. */
export interface AskedRequest {
  id: RequestId;
  method: string;
  params: Record<string, unknown>;
}

import type { Stopper } from '../../lib/abort.ts';
import type { CallRecord } from '../history/record.ts';
import type { Because, Caller, CallReply, CallRequest } from './request.ts';
import type { ResumePoint } from '../task/task.ts';

/** A call that is at work on its server. */
export interface LiveCall {
  /** What it is known by on its connection. */
  id: string;
  request: CallRequest;
  stop: Stopper;
  startedAt: number;
  /** What its arguments take of the budget, until they belong to a task. */
  bytes: number;
  /** Set once the call has become a task. */
  taskId?: string;
  /** From where it can go on, should its connection or this process be gone. */
  checkpoint?: ResumePoint | undefined;
  /** The server may have it. */
  sent?: boolean;
  /** The answers to the questions of a round are on their way to the server. */
  sendsAnswers?: boolean;
  /** The server keeps it as a task of its own. */
  native?: boolean;
  /** What the server said last of the task that it keeps for the call. */
  statusMessage?: string;
  /** A person has approved it: the approval is used up when the call is sent. */
  approval?: { use: () => void };
  /** The hash of the arguments that a person has approved. */
  approved?: string | undefined;
  /** Its entry in the history, if it has one. */
  recorded?: CallRecord;
  /** Answers the request that waits for this call; only the first answer counts. */
  answer: (reply: CallReply) => void;
  answered: boolean;
  /** Makes a task of it, unless its request has been answered. */
  promote: (because: Because) => void;
  caller: Pick<Caller, 'onProgress' | 'effectOf' | 'takesTask' | 'tellsRoots' | 'followsApproval'>;
}

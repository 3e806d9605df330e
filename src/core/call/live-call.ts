import type { Stopper } from '../../lib/abort.ts';
import type { CallRecord } from '../history/record.ts';
import type { Because, Caller, CallReply, CallRequest } from './request.ts';
import type { ResumePoint } from '../task/task.ts';

/** A running call. */
export interface LiveCall {
  /** Its id on its connection. */
  id: string;
  request: CallRequest;
  stop: Stopper;
  startedAt: number;
  /** The bytes of its arguments in the budget, until they belong to a task. */
  bytes: number;
  /** Set once the call has become a task. */
  taskId?: string;
  /** Where it can continue after the loss of its connection or of this process. */
  checkpoint?: ResumePoint | undefined;
  /** The server may have received it. */
  sent?: boolean;
  /** The answers of a round are being sent to the server. */
  sendsAnswers?: boolean;
  /** The server runs it as its own task. */
  native?: boolean;
  /** The last status message of the server's task. */
  statusMessage?: string;
  /** A person has approved it; the approval is consumed when the call is sent. */
  approval?: { use: () => void };
  /** The hash of the arguments that a person has approved. */
  approved?: string | undefined;
  /** Its entry in the history, if it has one. */
  recorded?: CallRecord;
  /** Answers the request that waits for this call; only the first answer counts. */
  answer: (reply: CallReply) => void;
  answered: boolean;
  /** Promotes it to a task, unless its request has been answered. */
  promote: (because: Because) => void;
  caller: Pick<Caller, 'onProgress' | 'effectOf' | 'takesTask' | 'tellsRoots' | 'followsApproval'>;
}

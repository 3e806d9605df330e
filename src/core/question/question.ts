/**
 * The one question machine. A question is something a server asks while it works. It is open until somebody answers,
 * its time runs out, or the one who asked is gone; then it never changes again.
 *
 *   open → accepted | declined | cancelled      an elicitation was answered
 *   open → completed                            a sampling request was answered
 *   open → expired                              nobody answered in time
 *   open → rejected                             whoever was asked refused, the server withdrew it or is gone, or the
 *                                               session ended
 */

import type { RpcFailure } from '../../lib/rpc-error.ts';

/** What servers ask: a person, a model, or the client's own program (for the folders it works in). */
export type QuestionKind = 'elicitation' | 'sampling' | 'roots';

export type QuestionStatus = 'open' | 'accepted' | 'declined' | 'cancelled' | 'completed' | 'expired' | 'rejected';

/** The requests that were open when a question came and may have asked it. */
export interface Candidates {
  /** Ids of the calls that have not ended since. */
  calls: string[];
  /** Whether requests other than calls were open as well. */
  others: boolean;
}

export interface Question {
  id: string;
  sessionId: string;
  server: string;
  kind: QuestionKind;
  /** The server's own parameters, untouched. */
  params: Record<string, unknown>;
  status: QuestionStatus;
  createdAt: number;
  expiresAt: number;
  /** It does not depend on the connection it came on. */
  detached?: boolean;
  /** What the server knows it by. */
  key?: string;
  /** Kept until the server has it. */
  answer?: Answer;
  /** The call that certainly asked; absent when nothing ties the question to one. */
  callId?: string;
  /** `callId` only names the call through which the client is asked; it is not known which call asked. */
  borrowed?: boolean;
  /** There until it is known which call asked. */
  candidates?: Candidates;
  /** It belongs to no call and came while the client did not use its server: not shown until the client does. */
  hidden?: boolean;
  /** The client was asked and no person answered: only the tools of the hub answer it now. */
  toolsOnly?: boolean;
  /** The task that call has become. */
  taskId?: string;
  /** Why it was rejected or expired. */
  reason?: string;
  /** The error of a client that refused to answer, as it is to reach the server. */
  error?: RpcFailure;
}

/** What goes back to the server: an `ElicitResult`, a `CreateMessageResult` or a `ListRootsResult`. */
export type Answer = Record<string, unknown>;

export type QuestionEvent =
  | { type: 'answer'; answer: Answer }
  | { type: 'expire' }
  | { type: 'refuse'; error: RpcFailure }
  /** `words`: what the server said when it took the question back. */
  | { type: 'reject'; reason: string; words?: string };

/** The question after `event`, or `undefined` when it is not open any more. */
export function settleQuestion(question: Question, event: QuestionEvent): Question | undefined {
  if (question.status !== 'open') return undefined;
  switch (event.type) {
    case 'answer':
      return { ...question, status: answeredStatus(question.kind, event.answer), answer: event.answer };
    case 'expire':
      return { ...question, status: 'expired', reason: 'nobody answered in time' };
    case 'refuse':
      return { ...question, status: 'rejected', reason: event.error.message, error: event.error };
    case 'reject':
      return { ...question, status: 'rejected', reason: event.reason };
  }
}

function answeredStatus(kind: QuestionKind, answer: Answer): QuestionStatus {
  if (kind !== 'elicitation') return 'completed';
  switch (answer['action']) {
    case 'decline':
      return 'declined';
    case 'cancel':
      return 'cancelled';
    default:
      return 'accepted';
  }
}

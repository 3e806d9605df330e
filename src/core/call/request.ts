import { OwnWords } from '../../lib/own-words.ts';
import type { GatewayError } from '../errors.ts';
import type { CallOutcome, OutgoingCall, Progress } from '../ports/connection.ts';
import type { QuestionEffect } from '../interaction/attribution.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { Responder } from '../interaction/responders.ts';
import type { CallResult, Task } from '../task/task.ts';

export interface CallRequest {
  /** The id of the call on its connection; generated if absent. */
  id?: string;
  server: string;
  tool: string;
  args: Record<string, unknown>;
  /** The name of the client program that makes the call, if it is known. */
  program?: string | undefined;
  /** The client sent no `arguments` field, which differs from an empty object. */
  bare?: boolean;
  /** How long until it becomes a task; never if infinite. */
  timeoutMs: number;
  ttlMs?: number;
  /** Sent as the request's `_meta`. */
  meta?: Record<string, unknown>;
  /** The URL to call when the task of the call has ended. */
  webhook?: string;
  /** Other params that the client sent. */
  more?: Record<string, unknown>;
  /** Whether the server may run it as its own task; by default whenever it supports that. */
  tasks?: OutgoingCall['tasks'];
  /** It starts as a task. */
  asTask?: boolean;
  /** The client learns of the task that the call becomes. */
  exposed?: boolean;
}

/** Which call a result belongs to. */
export type CallMade = Pick<CallRequest, 'server' | 'tool' | 'args' | 'program' | 'ttlMs'>;

/** How a client leaves its request: `gone` lets the work continue, `cancelled` stops it. */
export type Leaving = 'gone' | 'cancelled';

/** `words`: the client's reason, if it gave one. */
export type LeavingListener = (leaving: Leaving, words?: string) => void;

/** The abort reason of a cancellation, with the client's own words if it gave any. */
export function cancelledByClient(words: string | undefined): Error {
  return words === undefined ? new Error('cancelled by the client') : new OwnWords(words);
}

/** The client's side of a call, for as long as its request is open. */
export interface Caller {
  /** Calls back when the client leaves (immediately if it has left), until the returned function is called. */
  onLeaving: (listener: LeavingListener) => () => void;
  onProgress: (progress: Progress) => void;
  /** Answers the questions of the call, as long as its request is open. */
  responder?: Responder;
  /** What a question does to the request while it is open; without this, every question promotes the call. */
  effectOf?: (interaction: Interaction) => QuestionEffect;
  /** Whether the caller wants a task as soon as the server has created one. */
  takesTask?: boolean;
  /** Whether the caller keeps waiting for a call that becomes a task because of an approval or a sign-in. */
  followsApproval?: boolean;
  /** Whether its client supports roots. */
  tellsRoots?: boolean;
}

/** Why a call became a task. `approval`, `sign_in`: it waits for a person and must survive a restart. */
export type Because = 'timeout' | 'question' | 'gone' | 'asked' | 'server' | 'approval' | 'sign_in';

/** Whether the call has not been sent yet because the gateway asks a person first. */
export const isAskedFirst = (because: Because): boolean => because === 'approval' || because === 'sign_in';

export type CallReply =
  | { kind: 'result'; result: CallResult }
  | { kind: 'task'; task: Task; because: Because }
  | { kind: 'failed'; error: GatewayError; outcome: Exclude<CallOutcome, { kind: 'result' }> }
  | { kind: 'cancelled' };

/**
 * If the client ends the session, its work stops; if the gateway shuts down, work stays unfinished. If another gateway owns the session
 * already, this one must send nothing more to the client or to servers.
 */
export interface Ending {
  by: 'client' | 'gateway' | 'successor';
  reason: string;
}

import { OwnWords } from '../../lib/own-words.ts';
import type { GatewayError } from '../errors.ts';
import type { CallOutcome, OutgoingCall, Progress } from '../ports.ts';
import type { QuestionEffect } from '../interaction/attribution.ts';
import type { Interaction } from '../interaction/interaction.ts';
import type { Responder } from '../interaction/responders.ts';
import type { CallResult, Task } from '../task/task.ts';

export interface CallRequest {
  /** What the call is known by on its connection; made up if absent. */
  id?: string;
  server: string;
  tool: string;
  args: Record<string, unknown>;
  /** The name of the client program that makes the call, if it is known. */
  program?: string | undefined;
  /** The client sent no arguments at all, which is not the same as none. */
  bare?: boolean;
  /** After how long it becomes a task; never if infinite. */
  timeoutMs: number;
  ttlMs?: number;
  /** Goes along as the request's `_meta`. */
  meta?: Record<string, unknown>;
  /** Called when the task has ended that the call becomes. */
  webhook?: string;
  /** Whatever else the client sent with it. */
  more?: Record<string, unknown>;
  /** Whether the server may keep it as a task wherever it offers that (as it may unless said otherwise). */
  tasks?: OutgoingCall['tasks'];
  /** It is to be a task from the start. */
  asTask?: boolean;
  /** The client is to know the task that the call becomes. */
  exposed?: boolean;
}

/** Which call a result belongs to. */
export type CallMade = Pick<CallRequest, 'server' | 'tool' | 'args' | 'program' | 'ttlMs'>;

/** How a client leaves its request: without wanting the work stopped, or wanting just that. */
export type Leaving = 'gone' | 'cancelled';

/** `words`: why, if the client said so. */
export type LeavingListener = (leaving: Leaving, words?: string) => void;

/** The reason of a cancellation, for whoever is to stop the work: in the words of the client, if it had some. */
export function cancelledByClient(words: string | undefined): Error {
  return words === undefined ? new Error('cancelled by the client') : new OwnWords(words);
}

/** The client's side of a call, for as long as its request is open. */
export interface Caller {
  /** Calls back when the client leaves (at once if it has), until the returned function is called. */
  onLeaving: (listener: LeavingListener) => () => void;
  onProgress: (progress: Progress) => void;
  /** Answers the questions of the call, as long as its request is open. */
  responder?: Responder;
  /** What a question does to the request while it is open; without this, every question promotes the call. */
  effectOf?: (interaction: Interaction) => QuestionEffect;
  /** Whether the caller wants a task as soon as the server has made one of its own. */
  takesTask?: boolean;
  /** Whether the caller goes on to wait for a call that becomes a task because the gateway asks for an approval or a sign-in. */
  followsApproval?: boolean;
  /** Whether its client can tell in which folders it works. */
  tellsRoots?: boolean;
}

/** Why a call became a task. `approval`, `sign_in`: it waits for a person, and is not to be lost with the program. */
export type Because = 'timeout' | 'question' | 'gone' | 'asked' | 'server' | 'approval' | 'sign_in';

/** Whether the call has not been sent, because the gateway asks a person first. */
export const isAskedFirst = (because: Because): boolean => because === 'approval' || because === 'sign_in';

export type CallReply =
  | { kind: 'result'; result: CallResult }
  | { kind: 'task'; task: Task; because: Because }
  | { kind: 'failed'; error: GatewayError; outcome: Exclude<CallOutcome, { kind: 'result' }> }
  | { kind: 'cancelled' };

/**
 * A client that leaves wants its work stopped; a gateway that stops leaves work undone. If another gateway has the session
 * already, neither the client nor a server may hear anything more from this one.
 */
export interface Ending {
  by: 'client' | 'gateway' | 'successor';
  reason: string;
}

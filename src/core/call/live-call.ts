import { Stopper } from '../../lib/abort.ts';
import type { CallRecord } from '../history/record.ts';
import type { CallListener, Progress, ServerTask } from '../ports/connection.ts';
import type { ResumePoint } from '../task/task.ts';
import type { Because, Caller, CallReply, CallRequest } from './request.ts';

/** Decides what follows from what happens to a call. */
export interface CallOwner {
  promote(call: LiveCall, because: Because): void;
  progressed(call: LiveCall, progress: Progress): void;
  taskChanged(call: LiveCall, task: ServerTask): void;
  sending(call: LiveCall): Promise<void> | undefined;
  checkpointChanged(call: LiveCall, checkpoint: ResumePoint | undefined): Promise<void>;
  allAsked(call: LiveCall): void;
}

interface LiveCallParts {
  id: string;
  owner: CallOwner;
  request: CallRequest;
  startedAt: number;
  bytes: number;
  caller: LiveCall['caller'];
  /** Receives the first answer; absent if no request waits for the call. */
  onAnswer?: (reply: CallReply) => void;
}

/** A running call. A class, because each closure of an open call is copied by the garbage collector (docs/PERFORMANCE.md). */
export class LiveCall implements CallListener {
  /** Its id on its connection. */
  readonly id: string;
  readonly request: CallRequest;
  readonly stop = new Stopper();
  readonly startedAt: number;
  readonly caller: Pick<Caller, 'onProgress' | 'effectOf' | 'takesTask' | 'tellsRoots' | 'followsApproval'>;
  /** The bytes of its arguments in the budget, until they belong to a task. */
  bytes: number;
  answered: boolean;
  /** The server may have received it. */
  sent = false;
  /** The answers of a round are being sent to the server. */
  sendsAnswers = false;
  /** The server runs it as its own task. */
  native = false;
  /** Set once the call has become a task. */
  taskId: string | undefined;
  /** Where it can continue after the loss of its connection or of this process. */
  checkpoint: ResumePoint | undefined;
  /** The last status message of the server's task. */
  statusMessage: string | undefined;
  /** A person has approved it; the approval is consumed when the call is sent. */
  approval: { use: () => void } | undefined;
  /** The hash of the arguments that a person has approved. */
  approved: string | undefined;
  /** Its entry in the history, if it has one. */
  recorded: CallRecord | undefined;
  readonly #owner: CallOwner;
  readonly #onAnswer: LiveCallParts['onAnswer'];

  constructor({ id, owner, request, startedAt, bytes, caller, onAnswer }: LiveCallParts) {
    this.id = id;
    this.request = request;
    this.startedAt = startedAt;
    this.caller = caller;
    this.bytes = bytes;
    this.answered = onAnswer === undefined;
    this.#owner = owner;
    this.#onAnswer = onAnswer;
  }

  /** Answers the request that waits for this call; only the first answer counts. */
  answer(reply: CallReply): void {
    if (this.answered) return;
    this.answered = true;
    this.#onAnswer?.(reply);
  }

  /** Promotes it to a task, unless its request has been answered. */
  promote(because: Because): void {
    this.#owner.promote(this, because);
  }

  onProgress(progress: Progress): void {
    this.#owner.progressed(this, progress);
  }

  onTask(task: ServerTask): void {
    this.#owner.taskChanged(this, task);
  }

  onSending(): Promise<void> | undefined {
    return this.#owner.sending(this);
  }

  onCheckpoint(checkpoint: ResumePoint | undefined): Promise<void> {
    return this.#owner.checkpointChanged(this, checkpoint);
  }

  onAllAsked(): void {
    this.#owner.allAsked(this);
  }
}

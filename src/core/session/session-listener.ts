/** Receives the calls and questions of one session as they start, change and end; implemented by history and audit record. */

import type { LiveCall } from '../call/live-call.ts';
import type { CallReply } from '../call/request.ts';
import type { AnsweredBy, CallViewKind } from '../history/entry.ts';
import type { CallRecord } from '../history/record.ts';
import type { Interaction, OpenInteraction, SettledInteraction } from '../interaction/interaction.ts';
import type { Progress } from '../ports/connection.ts';
import type { EndedTask, WorkingTask } from '../task/task.ts';

/** The description of the session. */
export interface RecordedSession {
  id: string;
  principal: string;
  view: CallViewKind;
  /** The name of its client program, if it is known. */
  program: () => string | undefined;
}

/** Who answered a question, and how; the principal defaults to that of the session. */
export interface Answerer<Via = AnsweredBy['via']> {
  via: Via;
  principal?: string | undefined;
  /** The name of the rule or the model. */
  name?: string | undefined;
}

export interface QuestionEnd {
  status: SettledInteraction['status'];
  /** Why there is no answer. */
  reason: string | undefined;
  /** Who answered or refused. */
  by: Answerer | undefined;
}

export interface SessionListener {
  callBegan(call: LiveCall): void;
  callProgressed(call: LiveCall, progress: Progress): void;
  /** A call became a task. */
  callPromoted(call: LiveCall, taskId: string): void;
  /** A call that is not a task was answered. */
  callEnded(call: LiveCall, reply: Exclude<CallReply, { kind: 'task' }>): void;
  /** Another gateway owns the session: the outcome of the call is unknown here. */
  callLeft(call: LiveCall): void;
  /** A call from before a restart continues as a task, or turns out to have failed. */
  taskRestored(task: WorkingTask): CallRecord | undefined;
  taskEnded(task: EndedTask): void;
  /** A question has arrived or changed. `presented`: its client is being asked. `restored`: it is from before a restart. */
  questionChanged(interaction: OpenInteraction, presented: boolean, restored: boolean): void;
  /** An answer has arrived and is being stored. */
  questionAnswered(id: string, by: Answerer): void;
  questionEnded(interaction: Interaction, end: QuestionEnd): void;
  /** The session has ended here; its next owner reports what continues. */
  leave(): void;
}

/** Combines two listeners; costs nothing if one or both are absent. */
export function bothListeners(
  one: SessionListener | undefined,
  other: SessionListener | undefined,
): SessionListener | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    callBegan: (call) => {
      one.callBegan(call);
      other.callBegan(call);
    },
    callProgressed: (call, progress) => {
      one.callProgressed(call, progress);
      other.callProgressed(call, progress);
    },
    callPromoted: (call, taskId) => {
      one.callPromoted(call, taskId);
      other.callPromoted(call, taskId);
    },
    callEnded: (call, reply) => {
      one.callEnded(call, reply);
      other.callEnded(call, reply);
    },
    callLeft: (call) => {
      one.callLeft(call);
      other.callLeft(call);
    },
    taskRestored: (task) => {
      const record = one.taskRestored(task);
      return other.taskRestored(task) ?? record;
    },
    taskEnded: (task) => {
      one.taskEnded(task);
      other.taskEnded(task);
    },
    questionChanged: (interaction, presented, restored) => {
      one.questionChanged(interaction, presented, restored);
      other.questionChanged(interaction, presented, restored);
    },
    questionAnswered: (id, by) => {
      one.questionAnswered(id, by);
      other.questionAnswered(id, by);
    },
    questionEnded: (interaction, end) => {
      one.questionEnded(interaction, end);
      other.questionEnded(interaction, end);
    },
    leave: () => {
      one.leave();
      other.leave();
    },
  };
}

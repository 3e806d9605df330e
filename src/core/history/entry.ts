/**
 * The history has one entry for each call and one for each question. An entry is written again when it changes, and gets a new,
 * larger number (`seq`) each time: a reader that has all entries up to a number has missed nothing, and reads on from there.
 *
 *   call:      running ⇄ waiting → completed | failed | cancelled | expired | lost
 *   question:  open → accepted | declined | cancelled | completed | expired | rejected | lost
 *
 * `lost`: the outcome is unknown because the gateway died. An ended entry does not change, except
 * that a session that is continued after all revives its lost entries.
 */

import type { BigNumber } from '../../lib/exact-json.ts';
import type { Approval, InteractionKind, SettledInteraction } from '../interaction/interaction.ts';
import type { View } from '../session/kind.ts';
import type { EndedTask } from '../task/task.ts';

export type EntryKind = 'call' | 'question' | 'summary';

export type CallStatus = 'running' | 'waiting' | EndedTask['status'] | 'lost';

export type QuestionStatus = 'open' | SettledInteraction['status'] | 'lost';

export type EntryStatus = CallStatus | QuestionStatus;

/** Where a call was made: through the hub, at the endpoint of a server or a group, or in the console. */
export type CallViewKind = View['kind'] | 'console';

/** The source of an answer. `client`: the program that made the call. `tools`: a hub tool. `rule`: the config. `link`: a link in a message. */
export type AnswerSource = 'client' | 'tools' | 'console' | 'terminal' | 'rule' | 'model' | 'link';

export interface AnsweredBy {
  principal: string;
  via: AnswerSource;
  /** The name of the rule, of the model, or of the target whose message had the link. */
  name?: string;
}

interface EntryFacts {
  id: string;
  seq: number;
  principal: string;
  server: string;
}

/** A period in which a call waited for an answer; without `to` it still waits. */
export interface Wait {
  questionId: string;
  from: number;
  to?: number;
}

export interface CallEntry extends EntryFacts {
  kind: 'call';
  /** The task that the call became. */
  taskId?: string;
  tool: string;
  sessionId: string;
  /** The client program that made the call. */
  program?: string;
  view: CallViewKind;
  startedAt: number;
  endedAt?: number;
  status: CallStatus;
  /** The tool reported an error. */
  isError?: boolean;
  progress?: { progress: number | BigNumber; total?: number | BigNumber; message?: string };
  statusMessage?: string;
  waits: Wait[];
  /** The approximate sizes of its arguments and its result as JSON. */
  argumentBytes: number;
  resultBytes?: number;
  /** Its arguments or its result are too large to store. */
  truncated?: boolean;
  error?: { code: number; message: string };
  /** Read only on demand. */
  arguments?: Record<string, unknown>;
  result?: Record<string, unknown>;
}

export interface QuestionEntry extends EntryFacts {
  kind: 'question';
  /** The kind of the server's request. */
  asks: InteractionKind;
  mode?: 'form' | 'url';
  status: QuestionStatus;
  /** The tool of the asking call, if known. */
  tool?: string;
  callId?: string;
  sessionId: string;
  program?: string;
  createdAt: number;
  expiresAt: number;
  endedAt?: number;
  /** If the question is open: its answer is being stored, and others come too late. */
  answeredBy?: AnsweredBy;
  /** Why there is no answer; for an open question, why a model did not answer. */
  reason?: string;
  /** What a person is asked, shortened. */
  message?: string;
  /** The gateway itself asks whether the call may be made. `decision`: `allow` once, or `always` in the session. */
  approval?: Approval & { decision?: string };
  /** The gateway asks the person to sign in to the server. */
  signIn?: true;
  /** The client also shows the question. */
  presented?: boolean;
  /** The question has ended, and its params are too large to store. */
  truncated?: boolean;
  /** The server's own parameters. Only read on demand. */
  params?: Record<string, unknown>;
}

/** Calls of one second that were too many for individual entries. */
export interface SummaryEntry extends EntryFacts {
  kind: 'summary';
  tool: string;
  from: number;
  to: number;
  count: number;
  errors: number;
  longestMs: number;
}

export type HistoryEntry = CallEntry | QuestionEntry | SummaryEntry;

/** The parts of an entry that may be large. */
export type EntryContent = Pick<CallEntry, 'arguments' | 'result'> & Pick<QuestionEntry, 'params'>;

type New<T> = T extends HistoryEntry ? Omit<T, 'seq' | keyof EntryContent> : never;

export type NewEntry = New<HistoryEntry>;

/** An entry to write. Without `content`, the stored content stays. */
export interface EntryWrite {
  entry: NewEntry;
  content?: EntryContent;
}

/** The start of an entry, which determines the order of lists. */
export function beganAt(entry: NewEntry): number {
  switch (entry.kind) {
    case 'call':
      return entry.startedAt;
    case 'question':
      return entry.createdAt;
    case 'summary':
      return entry.from;
  }
}

/** The end of an entry; `undefined` while it is unfinished. */
export function endedAt(entry: NewEntry): number | undefined {
  return entry.kind === 'summary' ? entry.to : entry.endedAt;
}

/** The text that searches match: names, ids and messages, in lower case. */
export function searchText(entry: NewEntry): string {
  const { id, server, principal } = entry;
  const more =
    entry.kind === 'call'
      ? [entry.tool, entry.taskId, entry.sessionId, entry.program, entry.statusMessage, entry.error?.message]
      : entry.kind === 'question'
        ? [entry.tool, entry.callId, entry.sessionId, entry.program, entry.message, entry.reason]
        : [entry.tool];
  return [server, ...more, id, principal]
    .filter((part) => part !== undefined)
    .join('\n')
    .toLowerCase();
}

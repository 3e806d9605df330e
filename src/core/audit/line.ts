/**
 * The audit record: one line for each thing that happened, in the order in which the gateways wrote them. A line never changes.
 *
 *   call      began, ended            a call that ends at once has only the line that says how it ended
 *   question  asked, ended            `ended`: nobody answered
 *   answer    given
 *   approval  asked, given, ended     a question of the gateway itself: whether a call may run
 *   sign_in   accepted, refused
 *   server    added, replaced, removed
 *   gap       dropped                 lines that could not be written
 *
 * docs/AUDIT.md describes the fields. A field may be added; what a field means changes only with `AUDIT_VERSION`.
 */

import type { AnsweredBy, CallStatus, CallView } from '../history/entry.ts';
import type { InteractionKind, SettledInteraction } from '../interaction/interaction.ts';

export const AUDIT_VERSION = 1;

export const AUDIT_KINDS = ['call', 'question', 'answer', 'approval', 'sign_in', 'server', 'gap'] as const;

export type AuditKind = (typeof AUDIT_KINDS)[number];

interface LineFacts<K extends AuditKind, E extends string> {
  v: typeof AUDIT_VERSION;
  /** The gateway that wrote it, and its number there. Numbers without a line are dropped lines. */
  gateway: string;
  n: number;
  at: number;
  kind: K;
  event: E;
}

/** Whose session it happened in. */
export interface SessionFacts {
  principal: string;
  /** The client program. */
  program?: string;
  sessionId: string;
  view: CallView;
}

/** The arguments of a call, the parameters of a question, or what was answered. */
export interface ContentFacts {
  contentHash?: string;
  /** As JSON, about. */
  contentBytes?: number;
  /** Only if it is to be kept, and not too large. */
  content?: unknown;
}

export interface CallLine extends LineFacts<'call', 'began' | 'ended'>, SessionFacts, ContentFacts {
  callId: string;
  /** The task that it became. */
  taskId?: string;
  server: string;
  tool: string;
  /** The rest is only in the line that tells of the end. */
  startedAt?: number;
  outcome?: Exclude<CallStatus, 'running' | 'waiting'>;
  /** The tool reported an error. */
  isError?: boolean;
  errorCode?: number;
  reason?: string;
}

/** `refused`: the client, or a person, answered with an error. `rejected`: nobody answered, and `reason` says why. */
export type QuestionOutcome = SettledInteraction['status'] | 'refused';

export interface QuestionLine
  extends
    LineFacts<'question' | 'answer' | 'approval', 'asked' | 'given' | 'ended'>,
    SessionFacts,
    Partial<Pick<CallLine, 'callId' | 'taskId' | 'tool'>>,
    ContentFacts {
  questionId: string;
  /** Of the request that asks. */
  asks: InteractionKind;
  mode?: 'form' | 'url';
  server: string;
  /** The rest is only in the line that tells of the end. */
  askedAt?: number;
  outcome?: QuestionOutcome;
  answeredBy?: AnsweredBy;
  reason?: string;
}

/** Where a key or a token was presented: at the page of the console, at its API, or at an endpoint of MCP. */
export type SignInPlace = 'console' | 'api' | 'mcp';

export interface SignInLine extends LineFacts<'sign_in', 'accepted' | 'refused'> {
  place: SignInPlace;
  /** Of the other end of the connection, which may be a proxy. */
  address?: string;
  /** Who has signed in, and with what. */
  principal?: string;
  method?: 'launch key' | 'token' | 'login';
  /** How many were refused between two times, where that is more than one. */
  count?: number;
  from?: number;
  to?: number;
}

export interface ServerLine extends LineFacts<'server', 'added' | 'replaced' | 'removed'>, SessionFacts {
  server: string;
  /** The URL without secrets, or the command without its arguments. */
  address?: string;
}

export interface GapLine extends LineFacts<'gap', 'dropped'> {
  /** How many lines are missing, and when they were to be written. */
  count: number;
  from: number;
  to: number;
}

export type AuditLine = CallLine | QuestionLine | SignInLine | ServerLine | GapLine;

type New<T> = T extends AuditLine ? Omit<T, 'v' | 'gateway' | 'n'> : never;

/** A line without its number. */
export type NewLine = New<AuditLine>;

/** A line as it is read: `seq` grows from line to line, at all gateways. */
export type StoredLine = AuditLine & { seq: number };

/** Whose line it is: who may see it. Those of nobody are for operators. */
export function ownerOf(line: AuditLine): string | undefined {
  return 'principal' in line ? line.principal : undefined;
}

/** Who answered, where that is not the one whose line it is. */
export function answererOf(line: AuditLine): string | undefined {
  return 'answeredBy' in line ? line.answeredBy?.principal : undefined;
}

/** Letters beyond ASCII are compared as they are: engines differ in what they take for the same letter. */
export function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

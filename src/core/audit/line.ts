/**
 * The audit record: one line per event, in the order in which the gateways wrote them. A line never changes.
 *
 *   call      began, ended            a call that ends immediately has only the `ended` line
 *   question  asked, ended            `ended`: without an answer
 *   answer    given
 *   approval  asked, given, ended     a question of the gateway itself: whether a call may run
 *   sign_in   accepted, refused
 *   server    added, replaced, removed
 *   gap       dropped                 lines that could not be written
 *
 * docs/AUDIT.md describes the fields. Fields may be added; their meaning changes only with `AUDIT_VERSION`.
 */

import type { AnsweredBy, CallStatus, CallViewKind } from '../history/entry.ts';
import type { InteractionKind, SettledInteraction } from '../interaction/interaction.ts';

export const AUDIT_VERSION = 1;

export const AUDIT_KINDS = ['call', 'question', 'answer', 'approval', 'sign_in', 'server', 'gap'] as const;

export type AuditKind = (typeof AUDIT_KINDS)[number];

interface LineFacts<K extends AuditKind, E extends string> {
  v: typeof AUDIT_VERSION;
  /** The gateway that wrote the line, and the line's number there. Missing numbers are dropped lines. */
  gateway: string;
  n: number;
  at: number;
  kind: K;
  event: E;
}

/** The session in which it happened. */
export interface SessionFacts {
  principal: string;
  /** The client program. */
  program?: string;
  sessionId: string;
  view: CallViewKind;
}

/** The arguments of a call, the parameters of a question, or the answer. */
export interface ContentFacts {
  contentHash?: string;
  /** The approximate size as JSON. */
  contentBytes?: number;
  /** Only if contents are kept and this one is not too large. */
  content?: unknown;
}

export interface CallLine extends LineFacts<'call', 'began' | 'ended'>, SessionFacts, ContentFacts {
  callId: string;
  /** The task that it became. */
  taskId?: string;
  server: string;
  tool: string;
  /** The following fields are only in the `ended` line. */
  startedAt?: number;
  outcome?: Exclude<CallStatus, 'running' | 'waiting'>;
  /** The tool reported an error. */
  isError?: boolean;
  errorCode?: number;
  reason?: string;
}

/** `refused`: the client or a person answered with an error. `rejected`: there was no answer; see `reason`. */
export type QuestionOutcome = SettledInteraction['status'] | 'refused';

export interface QuestionLine
  extends
    LineFacts<'question' | 'answer' | 'approval', 'asked' | 'given' | 'ended'>,
    SessionFacts,
    Partial<Pick<CallLine, 'callId' | 'taskId' | 'tool'>>,
    ContentFacts {
  questionId: string;
  /** The kind of the request. */
  asks: InteractionKind;
  mode?: 'form' | 'url';
  server: string;
  /** The following fields are only in the `ended` line. */
  askedAt?: number;
  outcome?: QuestionOutcome;
  answeredBy?: AnsweredBy;
  reason?: string;
}

/** Where a key or a token was presented: at the page of the console, at its API, or at an endpoint of MCP. */
export type SignInPlace = 'console' | 'api' | 'mcp';

export interface SignInLine extends LineFacts<'sign_in', 'accepted' | 'refused'> {
  place: SignInPlace;
  /** The address of the peer, which may be a proxy. */
  address?: string;
  /** Who signed in, and how. */
  principal?: string;
  method?: 'launch key' | 'token' | 'login';
  /** The number of refusals in the period, if more than one. */
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
  /** How many lines are missing, and when they would have been written. */
  count: number;
  from: number;
  to: number;
}

export type AuditLine = CallLine | QuestionLine | SignInLine | ServerLine | GapLine;

type New<T> = T extends AuditLine ? Omit<T, 'v' | 'gateway' | 'n'> : never;

/** A line without its number. */
export type NewLine = New<AuditLine>;

/** A line as it is read: `seq` increases with each line, across all gateways. */
export type StoredLine = AuditLine & { seq: number };

/** The principal who may see the line; lines without an owner are for operators. */
export function ownerOf(line: AuditLine): string | undefined {
  return 'principal' in line ? line.principal : undefined;
}

/** The principal who answered, if it is not the owner of the line. */
export function answererOf(line: AuditLine): string | undefined {
  return 'answeredBy' in line ? line.answeredBy?.principal : undefined;
}

/** Lowercases ASCII letters only: database engines differ in how they fold other letters. */
export function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * What a person at the console wants of a gateway: to act in a session, which is done by the gateway that has the session, or to
 * see what a gateway holds in memory.
 */

import type { ServerConfig } from '../../../core/ports.ts';
import type { AnswerBody } from '../api/schemas.ts';

/** A session, and whose it is. */
export interface InSession {
  sessionId: string;
  owner: string;
}

export interface AnswerWork extends InSession {
  do: 'answer';
  questionId: string;
  answer: AnswerBody;
  via: 'console' | 'terminal' | 'link';
  /** Of the target whose message had the link. */
  name?: string;
}

/** To see an open question. */
export interface QuestionWork extends InSession {
  do: 'question';
  questionId: string;
}

export interface CancelWork extends InSession {
  do: 'cancel';
  callId: string;
  taskId?: string | undefined;
}

/** What a task returned, as long as its session keeps it. */
export interface ResultWork extends InSession {
  do: 'result';
  taskId: string;
}

/** In the session that the person has for the console. */
export interface ConnectWork {
  do: 'connect';
  server: string;
}

export interface TryWork {
  do: 'try';
  server: string;
  tool: string;
  arguments: Record<string, unknown>;
}

/** Adds the server of the demonstration, if it is not there, and runs its tools. */
export interface DemoWork {
  do: 'demo';
  config: ServerConfig;
}

export interface RemoveWork {
  do: 'remove';
  server: string;
}

/** What a session does. */
export type Action =
  | AnswerWork
  | QuestionWork
  | CancelWork
  | ConnectWork
  | TryWork
  | DemoWork
  | RemoveWork
  | ResultWork;

/** What a gateway shows of its sessions, and of their connections to servers. */
export type Look =
  | { do: 'servers' }
  | { do: 'server'; server: string; principal?: string | undefined }
  | { do: 'sessions' };

export type Work = Action | Look;

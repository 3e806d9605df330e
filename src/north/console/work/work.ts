/**
 * Console requests to a gateway: an action in a session, performed by the gateway that owns it, or a look at
 * what a gateway has in memory.
 */

import type { ServerConfig } from '../../../core/ports/server-config.ts';
import type { AnswerBody } from '../api/schemas.ts';

/** A session and its owner. */
export interface InSession {
  sessionId: string;
  owner: string;
}

export interface AnswerWork extends InSession {
  do: 'answer';
  questionId: string;
  answer: AnswerBody;
  via: 'console' | 'terminal' | 'link';
  /** The target whose message had the link. */
  name?: string;
}

/** Shows an open question. */
export interface QuestionWork extends InSession {
  do: 'question';
  questionId: string;
}

export interface CancelWork extends InSession {
  do: 'cancel';
  callId: string;
  taskId?: string | undefined;
}

/** Fetches the result of a task, while its session keeps it. */
export interface ResultWork extends InSession {
  do: 'result';
  taskId: string;
}

/** Connects to a server in the person's console session. */
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

/** Adds the demo server if missing, and runs its tools. */
export interface DemoWork {
  do: 'demo';
  config: ServerConfig;
}

export interface RemoveWork {
  do: 'remove';
  server: string;
}

/** Actions in a session. */
export type Action =
  | AnswerWork
  | QuestionWork
  | CancelWork
  | ConnectWork
  | TryWork
  | DemoWork
  | RemoveWork
  | ResultWork;

/** Queries for sessions and their server connections. */
export type ConsoleQuery =
  | { do: 'servers' }
  | { do: 'server'; server: string; principal?: string | undefined }
  | { do: 'sessions' };

export type ConsoleWork = Action | ConsoleQuery;

/** The events that cause notifications. Exists only if `notify` is configured; nothing waits for it. */

import type { InteractionKind } from '../interaction/interaction.ts';
import type { EndedTask } from '../task/task.ts';

export interface Notifier {
  /** A question for a person is open or has changed. Reported again after a restart, but queued only once. */
  questionOpen(question: NotedQuestion): void;
  /** The question was answered or has ended. */
  questionEnded(id: string): void;
  /** Reported again after a restart, because the task may have ended just before it. */
  taskEnded(task: NotedTask): void;
  /** A connection to a server was lost. */
  serverLost(server: string, principal: string, reason: string): void;
  /** The server is connected, for the first time or again. */
  serverBack(server: string, principal: string): void;
  /** The URL that is called when a task ends; throws if the configuration does not allow it. */
  webhook(given: unknown): string;
  /** Starts sending, once sessions are restored. */
  start(): void;
  /** Finishes messages that are being sent; the others stay in the store. */
  close(): Promise<void>;
}

/** An open question for a person. */
export interface NotedQuestion {
  id: string;
  kind: InteractionKind;
  mode?: 'form' | 'url' | undefined;
  server: string;
  /** The tool of the asking call, if known. */
  tool?: string | undefined;
  principal: string;
  sessionId: string;
  createdAt: number;
  expiresAt: number;
  message?: string | undefined;
  /** The sign-in page, if the gateway asks the person to sign in. */
  signInUrl?: string | undefined;
  /** The arguments of the call that asks. */
  args?: Record<string, unknown> | undefined;
}

export interface NotedTask {
  task: EndedTask;
  principal: string;
}

/** What notifications are told. There is no notifier unless `notify` is configured, and nothing waits for it. */

import type { InteractionKind } from '../interaction/interaction.ts';
import type { EndedTask } from '../task/task.ts';

export interface Notifier {
  /** A question waits for a person, or has changed. One of an earlier run of the program is told again, and queued once. */
  questionOpen(question: NotedQuestion): void;
  /** It was answered, or is over. */
  questionEnded(id: string): void;
  /** Told again for tasks of an earlier run, which may have ended just before that did. */
  taskEnded(task: NotedTask): void;
  /** A connection to a server was lost. */
  serverLost(server: string, principal: string, reason: string): void;
  /** The server is there, for the first time or again. */
  serverBack(server: string, principal: string): void;
  /** The URL that is called when a task ends; throws if the configuration does not allow it. */
  webhook(given: unknown): string;
  /** What an earlier run has left is restored: begins to send. */
  start(): void;
  /** Messages that are on their way may arrive; the others stay in the store. */
  close(): Promise<void>;
}

/** A question that waits for a person. */
export interface NotedQuestion {
  id: string;
  kind: InteractionKind;
  mode?: 'form' | 'url' | undefined;
  server: string;
  /** Of the call that asks, as far as it is known. */
  tool?: string | undefined;
  principal: string;
  sessionId: string;
  createdAt: number;
  expiresAt: number;
  message?: string | undefined;
  /** The page on which the person signs in, where the gateway asks for that. */
  signInUrl?: string | undefined;
  /** The arguments of the call that asks. */
  args?: Record<string, unknown> | undefined;
}

export interface NotedTask {
  task: EndedTask;
  principal: string;
}

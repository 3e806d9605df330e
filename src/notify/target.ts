/** What can receive messages. */

import type { NotifyMessage } from './message.ts';

export interface Target {
  /** Resolves when the target has the message; throws if it does not take it in time. */
  send(message: NotifyMessage, signal: AbortSignal): Promise<void>;
}

/** The target did not take a message. Its text is shown to operators, and has no secrets. */
export class SendFailure extends Error {
  override readonly name = 'SendFailure';
  /** No further attempt will help. */
  readonly isFinal: boolean;
  /** How long the target wants to be left alone. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    { isFinal = false, retryAfterMs }: { isFinal?: boolean; retryAfterMs?: number | undefined } = {},
  ) {
    super(message);
    this.isFinal = isFinal;
    this.retryAfterMs = retryAfterMs;
  }
}

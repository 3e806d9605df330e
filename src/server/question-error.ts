import { messageOf } from '../lib/log.ts';

/**
 * There will be no answer: the client does not support the question or refused it, time ran out, or the call has ended;
 * see `cause`. It has no error code, so a handler that does not catch it ends with a tool error, not a protocol error.
 */
export class QuestionError extends Error {
  override readonly name = 'QuestionError';

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

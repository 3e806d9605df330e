import { messageOf } from '../lib/log.ts';

/**
 * There will be no answer: the client cannot be asked, it refused, nobody answered in time, or the call is over. `cause` says
 * more. Without a code of its own: a handler that does not catch it ends with a result that says it.
 */
export class QuestionError extends Error {
  override readonly name = 'QuestionError';

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

import { messageOf } from '../lib/log.ts';
import { failureKindOf, ServerFailure } from '../lib/server-failure.ts';
import { ProbeFailed } from './peer/introduction.ts';

/** Any error of an attempt to connect, as a failure with a kind and a message. */
export function toServerFailure(error: unknown): ServerFailure {
  if (error instanceof ServerFailure) return error;
  const { failure, message } = describe(error);
  return new ServerFailure(failure, message, { cause: error });
}

function describe(error: unknown): Pick<ServerFailure, 'failure' | 'message'> {
  const message = messageOf(error);
  const known = failureKindOf(error);
  if (known !== undefined) return { failure: known, message };
  if (!(error instanceof ProbeFailed)) return { failure: 'other', message };
  // Without a cause, the transport was closed during the probe.
  return error.cause === undefined
    ? { failure: 'closed', message: 'the connection was closed before the server answered' }
    : describe(error.cause);
}

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { ErrorResponse } from '../peer/errors.ts';
import { ServerFailure, type ServerFailureKind } from '../../lib/server-failure.ts';

/** Marks a synthetic error: the response stream ended without the response. */
const STREAM_LOST = 'meanwhile/stream-lost';

/** A request or its response was lost on the network. */
export class Unreachable extends ServerFailure {
  /** The request cannot have arrived. */
  readonly unsent: boolean;

  constructor(failure: ServerFailureKind, message: string, unsent: boolean, cause: unknown) {
    super(failure, message, { cause });
    this.unsent = unsent;
  }
}

/** The error that replaces a response which will not arrive. */
export function streamLost(id: RequestId, reason: string): JSONRPCMessage {
  const message = `the server closed the connection before it answered (${reason})`;
  return { jsonrpc: '2.0', id, error: { code: -32000, message, data: STREAM_LOST } };
}

/** Whether a request that failed cannot have arrived. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Unreachable && error.unsent;
}

/** The request may or may not have arrived; its answer did not. */
export function isBrokenWire(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof ErrorResponse && error.data === STREAM_LOST);
}

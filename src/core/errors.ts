import { messageOf } from '../lib/log.ts';
import type { RpcFailure } from '../lib/rpc-error.ts';
import type { ServerFailureKind } from '../lib/server-failure.ts';
import { shortenText } from '../lib/shorten.ts';
import type { GatewayAddress } from './ports/cluster-store.ts';

/**
 * Every error the gateway itself raises: one closed set, one table. `rpc` is the JSON-RPC code where the error leaves as
 * a protocol error, `http` the status where it leaves as an HTTP answer; as a tool reply it carries the code itself.
 */
export const ERROR_TABLE = {
  TOOL_ERR_SESSION_NOT_FOUND: { rpc: -32001, http: 404 },
  TOOL_ERR_SERVER_NOT_FOUND: { rpc: -32602, http: 404 },
  TOOL_ERR_NOT_FOUND: { rpc: -32602, http: 404 },
  TOOL_ERR_TASK_NOT_FOUND: { rpc: -32602, http: 404 },
  TOOL_ERR_REQUEST_NOT_FOUND: { rpc: -32602, http: 404 },
  TOOL_ERR_INVALID_ARGUMENT: { rpc: -32602, http: 400 },
  TOOL_ERR_INVALID_ANSWER: { rpc: -32602, http: 400 },
  TOOL_ERR_EXECUTION_FAILED: { rpc: -32603, http: 502 },
  TOOL_ERR_TIMEOUT: { rpc: -32001, http: 504 },
  TOOL_ERR_SERVER_DISCONNECTED: { rpc: -32000, http: 502 },
  TOOL_ERR_SERVER_UNREACHABLE: { rpc: -32000, http: 502 },
  TOOL_ERR_NOT_ALLOWED: { rpc: -32000, http: 403 },
  TOOL_ERR_UNAUTHORIZED: { rpc: -32000, http: 401 },
  /** The authorization server cannot be reached, so the token cannot be checked. */
  TOOL_ERR_ISSUER_UNREACHABLE: { rpc: -32000, http: 503 },
  TOOL_ERR_LIMIT: { rpc: -32000, http: 429 },
  TOOL_ERR_STORE: { rpc: -32603, http: 503 },
  TOOL_ERR_SHUTTING_DOWN: { rpc: -32000, http: 503 },
  TOOL_ERR_INTERNAL: { rpc: -32603, http: 500 },
} as const;

export type ErrorCode = keyof typeof ERROR_TABLE;

export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;
  /** The kind of failure, if a server could not be used. */
  readonly failure: ServerFailureKind | undefined;

  constructor(code: ErrorCode, message: string, details?: Record<string, unknown>, failure?: ServerFailureKind) {
    super(shortenText(message));
    this.name = 'GatewayError';
    this.code = code;
    this.details = details;
    this.failure = failure;
  }
}

/** An error of the gateway as a JSON-RPC error. */
export function failureOfGateway({ code, message, details }: GatewayError): RpcFailure {
  return { code: ERROR_TABLE[code].rpc, message, data: { code, ...details } };
}

/** Refuses work because the program ends; the client may repeat it once the program is back. */
export function shuttingDown(details?: Record<string, unknown>): GatewayError {
  return new GatewayError('TOOL_ERR_SHUTTING_DOWN', 'the gateway is shutting down; try again later', details);
}

export function isShuttingDown(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'TOOL_ERR_SHUTTING_DOWN';
}

/** Another gateway owns the session of the request. */
export class OwnedElsewhere extends Error {
  override readonly name = 'OwnedElsewhere';
  /** The claim that the other gateway holds. */
  readonly key: string;
  readonly owner: GatewayAddress;

  constructor(key: string, owner: GatewayAddress) {
    super(`gateway ${owner.id} has the session`);
    this.key = key;
    this.owner = owner;
  }
}

/** A failure of the store as an error of the gateway. */
export async function orStoreFailed<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    throw new GatewayError('TOOL_ERR_STORE', messageOf(error));
  });
}

/** "known: a, b" or "there are none", for messages that name the fix. */
export function known(names: Iterable<string>): string {
  const list = [...names].toSorted();
  if (list.length === 0) return 'there are none';
  const shown = list.slice(0, 30).join(', ');
  return `known: ${shown}${list.length > 30 ? ` and ${list.length - 30} more` : ''}`;
}

import { shortenText } from './shorten.ts';

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** In the legacy protocol. */
export const RESOURCE_NOT_FOUND = -32002;
/** A header of a request does not match its body (2026-07-28). */
export const HEADER_MISMATCH = -32020;
/** The client does not support what the request requires (2026-07-28). */
export const MISSING_CAPABILITY = -32021;
/** The server does not support the protocol version of the request. */
export const UNSUPPORTED_VERSION = -32022;
/** The client must open a page first (2025-11-25). */
export const URL_ELICITATION_REQUIRED = -32042;

/**
 * The error code for a question without an answer; the specification has it for a user who rejects. Not -32000, which peers
 * take for a closed connection.
 */
export const NOT_ANSWERED = -1;

/** The content of a JSON-RPC error. */
export interface RpcFailure {
  code: number;
  message: string;
  data?: unknown;
}

/** An error that is sent as a JSON-RPC error with its code. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(shortenText(message));
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }

  /** An error of the other side as it sent it: its message is not shortened. */
  static passedOn({ code, message, data }: RpcFailure): RpcError {
    const error = new this(code, '', data);
    error.message = message;
    return error;
  }
}

/** Whether an error has a JSON-RPC code: it is an `RpcError`, or the error that a server answered with. */
export function hasRpcCode(error: unknown): error is Error & RpcFailure {
  return error instanceof Error && 'code' in error && Number.isInteger(error.code);
}

/** Converts an error to a JSON-RPC error. */
export function rpcFailure({ code, message, data }: RpcFailure): RpcFailure {
  return { code, message, ...(data !== undefined && { data }) };
}

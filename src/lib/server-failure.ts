/** Why a server cannot be used. Advice is derived from the kind, never from the text of an error. */
export type ServerFailureKind =
  /** No process listens at the address. */
  | 'refused'
  /** The host name cannot be resolved. */
  | 'dns'
  /** The network does not reach the host, or the host does not respond. */
  | 'no_route'
  /** The certificate is not trusted. */
  | 'tls_untrusted'
  /** The TLS handshake failed: often the port speaks plain HTTP. */
  | 'tls'
  /** HTTP 401 or 403. */
  | 'auth'
  /** A person must sign in first. */
  | 'sign_in'
  /** HTTP 401 or 403, and no token helps; the message says why, and what to do. */
  | 'no_token'
  /** HTTP 404 or 405 from something that is not an MCP server. */
  | 'wrong_path'
  /** A response that is not MCP. */
  | 'not_mcp'
  /** The operator does not allow connections to this address. */
  | 'not_allowed'
  | 'command_missing'
  | 'folder_missing'
  | 'not_executable'
  /** The process exited or was killed. */
  | 'exited'
  /** The process wrote text to standard output, which is reserved for messages. */
  | 'stray_output'
  /** No response in time. */
  | 'timeout'
  /** The connection was closed. */
  | 'closed'
  /** Anything else, including errors that a server reports itself. */
  | 'other';

/** A server cannot be used, and `failure` says why. */
export class ServerFailure extends Error {
  override readonly name: string = 'ServerFailure';
  readonly failure: ServerFailureKind;

  constructor(failure: ServerFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** The failure kind of an error of any class. */
export function failureKindOf(error: unknown): ServerFailureKind | undefined {
  return error instanceof Error && 'failure' in error ? (error.failure as ServerFailureKind | undefined) : undefined;
}

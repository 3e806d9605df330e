/** An error that goes back to the server with its code. */
export class PeerError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'PeerError';
    this.code = code;
    this.data = data;
  }
}

/**
 * There is no answer: the code that the specification has for a person who refuses. Not -32000, which peers take for a
 * closed connection.
 */
export const NOT_ANSWERED = -1;

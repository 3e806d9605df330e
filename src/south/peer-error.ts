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

import { ServerFailure } from '../../lib/server-failure.ts';

/** The server answered a request with an error; code, message and data are unchanged. */
export class ErrorResponse extends Error {
  override readonly name = 'ErrorResponse';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The server did not answer a request in time. */
export class RequestTimeout extends ServerFailure {
  constructor(ms: number) {
    super('timeout', noAnswerWithin(ms));
  }
}

export const noAnswerWithin = (ms: number): string => `no MCP answer within ${ms} ms`;

/** The connection was closed before the answer arrived, or while a question of the server was open. */
export class ConnectionClosed extends ServerFailure {
  constructor() {
    super('closed', 'Connection closed');
  }
}

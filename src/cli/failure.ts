/** Exit codes when there is a result. */
export const RESULT = 0;
export const TOOL_ERROR = 3;

/** Exit codes when there is no result, by the reason that scripts read. */
export const EXIT_CODES = {
  server_error: 1,
  unreachable: 1,
  lost: 1,
  refused: 1,
  unexpected: 1,
  usage: 2,
  config: 2,
  cancelled: 4,
  timeout: 5,
  unanswered: 6,
  interrupted: 130,
  left_running: 130,
} as const;

export type FailureCode = keyof typeof EXIT_CODES;

/** Ends a command without a result. `details` are added to the error in JSON output. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: FailureCode;
  readonly details: Record<string, unknown>;

  constructor(code: FailureCode, message: string, details: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

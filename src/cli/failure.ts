/** Why a command ended without a result, as a word for scripts. */
export type FailureCode =
  | 'usage'
  | 'config'
  | 'server_error'
  | 'unreachable'
  | 'lost'
  | 'refused'
  | 'unexpected'
  | 'cancelled'
  | 'unanswered'
  | 'timeout'
  | 'interrupted'
  | 'left_running';

/** What the program says with its exit code when there is a result. */
export const RESULT = 0;
export const TOOL_ERROR = 3;

export const EXIT_CODES: Record<FailureCode, number> = {
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
};

/** Ends a command. `details` go along where the program answers in JSON. */
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

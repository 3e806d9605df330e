import { ERROR_TABLE, GatewayError, isShuttingDown, type ErrorCode } from '../../core/errors.ts';

/** An error of the API: its status, a code for programs, and a message that names the fix. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  /** More members of `error`. */
  readonly details: Record<string, unknown>;
  /** Members beside `error`. */
  readonly beside: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    code: string,
    message: string,
    more: {
      details?: Record<string, unknown>;
      beside?: Record<string, unknown>;
      headers?: Record<string, string>;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = more.details ?? {};
    this.beside = more.beside ?? {};
    this.headers = more.headers ?? {};
  }

  get body(): Record<string, unknown> {
    const { code, message, details, beside } = this;
    return { error: { code, message, ...details }, ...beside };
  }
}

export const notFound = (what: string): ApiError => new ApiError(404, 'not_found', what);

/** The API codes of gateway errors. */
const CODES: Partial<Record<ErrorCode, string>> = {
  TOOL_ERR_SERVER_NOT_FOUND: 'not_found',
  TOOL_ERR_NOT_FOUND: 'not_found',
  TOOL_ERR_SESSION_NOT_FOUND: 'not_found',
  TOOL_ERR_TASK_NOT_FOUND: 'not_found',
  TOOL_ERR_REQUEST_NOT_FOUND: 'not_found',
  TOOL_ERR_INVALID_ARGUMENT: 'invalid_argument',
  TOOL_ERR_INVALID_ANSWER: 'invalid_answer',
  TOOL_ERR_EXECUTION_FAILED: 'server_failed',
  TOOL_ERR_TIMEOUT: 'timeout',
  TOOL_ERR_SERVER_DISCONNECTED: 'server_unreachable',
  TOOL_ERR_SERVER_UNREACHABLE: 'server_unreachable',
  TOOL_ERR_NOT_ALLOWED: 'not_allowed',
  TOOL_ERR_UNAUTHORIZED: 'not_signed_in',
  TOOL_ERR_ISSUER_UNREACHABLE: 'issuer_unreachable',
  TOOL_ERR_LIMIT: 'limit',
  TOOL_ERR_STORE: 'store_unavailable',
  TOOL_ERR_SHUTTING_DOWN: 'shutting_down',
};

/** Converts an error to an API error; `undefined` for unexpected errors. */
export function apiErrorOf(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (!(error instanceof GatewayError)) return undefined;
  const headers: Record<string, string> = isShuttingDown(error) ? { 'retry-after': '1' } : {};
  return new ApiError(ERROR_TABLE[error.code].http, CODES[error.code] ?? 'internal', error.message, { headers });
}

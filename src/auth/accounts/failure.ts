import { GatewayError } from '../../core/errors.ts';

/** Why somebody cannot be signed in, in words for people. No token, code or secret is ever in it. */
export class AuthFailure extends GatewayError {
  /** The error code of OAuth, if an authorization server said one. */
  readonly oauthError: string | undefined;
  /** It may be different soon: something could not be reached. */
  readonly mayPass: boolean;
  /** Nobody can sign in, but credentials in a header may help. */
  readonly headerHelps: boolean;

  constructor(
    message: string,
    {
      oauthError,
      mayPass = false,
      headerHelps = false,
    }: { oauthError?: string | undefined; mayPass?: boolean; headerHelps?: boolean } = {},
  ) {
    super('TOOL_ERR_EXECUTION_FAILED', message);
    this.oauthError = oauthError;
    this.mayPass = mayPass;
    this.headerHelps = headerHelps;
  }
}

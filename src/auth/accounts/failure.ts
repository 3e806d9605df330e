import { GatewayError } from '../../core/errors.ts';

/** Why a sign-in is not possible, as a message for people. It never contains a token, code or secret. */
export class AuthFailure extends GatewayError {
  /** The OAuth error code, if an authorization server sent one. */
  readonly oauthError: string | undefined;
  /** Whether the failure may be temporary, for example if an address could not be reached. */
  readonly mayPass: boolean;
  /** Whether credentials in a header may help, because the server offers no sign-in. */
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

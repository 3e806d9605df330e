/** The paths of the pages for signing in to a server. */

/** Followed by the id of the sign-in. */
export const SIGN_IN_START_PATH = '/oauth/start/';
/** The redirect path; for an authorization server that does not name itself, `/oauth/callback/<segment>`. */
export const SIGN_IN_CALLBACK_PATH = '/oauth/callback';

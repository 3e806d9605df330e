/** Who makes a request, and how people sign in to the console. `auth` implements these interfaces. */

/** What a client may do: use servers, also answer questions for its principal in the console, or see and answer everything. */
export type Scope = 'use' | 'answer' | 'operate';

/** The scopes and claim values of a token that access rules and quotas refer to. */
export interface TokenFacts {
  scopes: readonly string[];
  claims: Readonly<Record<string, readonly string[]>>;
}

/** Who makes a request. */
export interface Identity {
  principal: string;
  /** Absent if the token has nothing that the configuration refers to, and for tokens from the configuration. */
  facts?: TokenFacts | undefined;
}

/** The identity behind an access token, according to its authorization server. */
export interface Bearer extends Identity {
  /** Derived from issuer and subject, because tokens change. */
  principal: string;
  /** The audiences of the token; `any` if the configuration accepts every audience. */
  audiences: readonly string[] | 'any';
  /** The greatest scope of the token; each scope contains the lesser ones. */
  scope: Scope | undefined;
  expiresAt: number;
}

/** Checks the tokens of authorization servers. */
export interface TokenVerifier {
  /**
   * Synchronous for a recently checked token. Throws a `GatewayError` if the token is invalid or cannot be checked now.
   */
  verify(token: string): Bearer | Promise<Bearer>;
}

/** An authorization server that people can sign in with. */
export interface LoginChoice {
  issuer: string;
  /** Its display name. */
  title: string;
  /** The client id of the gateway. */
  clientId: string;
  /** The scopes and claims that access rules and quotas use, as JSON; absent if they use none. */
  asks?: string | undefined;
}

/** The state of a sign-in, which the browser carries in sealed form, so that any gateway can complete it. */
export interface PendingLogin {
  issuer: string;
  state: string;
  nonce: string;
  /** The PKCE verifier. */
  verifier: string;
  redirectUri: string;
}

/** A person who has signed in. */
export interface LoggedIn extends Identity {
  /** The greatest scope of the person; without one, they have no access. */
  scope: Scope | undefined;
  idToken: string;
  /** How long they stay signed in. */
  sessionMs: number;
}

/** Signs people in with authorization servers. Errors are of the kind `GatewayError`. */
export interface Logins {
  choices: readonly LoginChoice[];
  /** The page of the issuer to send the browser to. */
  begin(issuer: string, redirectUri: string): Promise<{ url: string; pending: PendingLogin }>;
  /** Checks the parameters of the redirect, and asks the issuer for the identity. */
  complete(pending: PendingLogin, parameters: URLSearchParams): Promise<LoggedIn>;
  /** The issuer's sign-out page, which returns to `returnTo`, if it has one. */
  endUrl(issuer: string, returnTo: string, idToken?: string): Promise<string | undefined>;
}

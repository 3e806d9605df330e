/** The accounts on servers that require authorization. `auth` implements `Accounts`. */
import type { HttpServerConfig } from './server-config.ts';

/** A server that may require authorization, and the principal that uses it. */
export interface AccountAt {
  principal: string;
  server: string;
  config: HttpServerConfig;
}

/** How a server refused a request: the status and the content of its `WWW-Authenticate` header. */
export interface AuthChallenge {
  status: 401 | 403;
  /** Such as `invalid_token` or `insufficient_scope`. */
  error?: string;
  scope?: string;
  resourceMetadata?: string;
}

/** A pending sign-in. It is stored, so that any gateway can complete it. */
export interface SignIn {
  /** Cannot be guessed. */
  id: string;
  principal: string;
  server: string;
  /** The authorization server to which the person is sent. */
  issuer: string;
  scopes: readonly string[];
  expiresAt: number;
}

/** A sign-in that a call waits for, and the page where it starts. */
export interface NeededSignIn extends SignIn {
  /** The page of the gateway that leads to the authorization server; absent if no page can be served. */
  url?: string | undefined;
}

/** Why no token helps. */
export interface NoToken {
  reason: string;
  /** Nobody can sign in to the server, but it may want credentials of another kind. */
  headerHelps?: boolean;
}

/** What to do after a refusal: resend the request, let a person sign in, or report the reason to the client. */
export type AfterRefusal = { then: 'retry' } | { then: 'sign_in'; signIn: SignIn } | ({ then: 'fail' } & NoToken);

/** The access tokens of one account. */
export interface AccountTokens {
  /** The token to send, synchronously if it is cached and will not expire soon; `undefined` if there is none. */
  current(): string | undefined | Promise<string | undefined>;
  /** The server refused a request sent with this token, or without one. Concurrent callers share one refresh. */
  refused(token: string | undefined, challenge: AuthChallenge): Promise<AfterRefusal>;
}

export interface AccountState {
  principal: string;
  server: string;
  issuer: string;
  scopes: readonly string[];
  /** When its access token expires. */
  expiresAt?: number;
  /** Whether it can be renewed without a person. */
  renewable: boolean;
}

/** The accounts of all principals on servers that require authorization. */
export interface Accounts {
  tokens(account: AccountAt): AccountTokens;
  /**
   * Starts a sign-in that somebody wants, or returns the pending one if it covers these scopes. It does not matter whether the
   * server has refused the tokens of the last one.
   */
  signIn(account: AccountAt, challenge?: AuthChallenge): Promise<SignIn>;
  /** `undefined` if it was completed or has expired. */
  findSignIn(id: string): Promise<SignIn | undefined>;
  /** The page of the authorization server to send the browser to. */
  authorizationUrl(signInId: string): Promise<URL>;
  /** Checks the parameters of the redirect, which came to this path of the gateway; fetches the tokens and stores them. */
  complete(parameters: URLSearchParams, path?: string): Promise<SignIn>;
  /** Calls the watcher after each sign-in, here or at another gateway, until the returned function is called. */
  watch(watcher: (principal: string, server: string) => void): () => void;
  /** The accounts of a principal and the shared ones (`*`); without a principal, all accounts. */
  list(principal?: string): Promise<AccountState[]>;
  /** Revokes and deletes the tokens; `*` means the shared ones. `false` if there were none. */
  signOut(principal: string, server: string): Promise<boolean>;
  /**
   * The server was removed: deletes its tokens and pending sign-ins, those of one principal or of all. The tokens are then revoked in
   * the background.
   */
  forgetServer(server: string, url: string, principal?: string): Promise<void>;
}

/** How a server is reached, and how the gateway signs in to it. */

export type ServerConfig = HttpServerConfig | CommandServerConfig;

interface ServerOptions {
  /** Who uses a connection to the server: one session, or all sessions of one principal. */
  share?: 'principal';
  /** Patterns of the tools to show; all by default. */
  include?: readonly string[];
  /** Patterns of tools to hide. */
  exclude?: readonly string[];
}

export interface HttpServerConfig extends ServerOptions {
  url: string;
  headers?: Record<string, string>;
  /** How the gateway signs in to the server, beyond what the server announces; `false`: never. */
  auth?: ServerAuth | false;
}

/** The config of the accounts that the gateway or its principals have on a server. */
export interface ServerAuth {
  grant: 'authorization_code' | 'client_credentials';
  /** A client that is already registered with the authorization server. */
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** The client authenticates by signing with this key instead of a secret. */
  privateKeyFile?: string | undefined;
  keyId?: string | undefined;
  algorithm?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** The authorization server, if the server announces several or none. */
  issuer?: string | undefined;
  /** A client ID metadata document to use instead of the gateway's. */
  clientMetadataUrl?: string | undefined;
  /** Accepts an authorization server that does not announce PKCE support. */
  allowWithoutPkce?: boolean | undefined;
  /** All principals use one account. */
  shared?: boolean | undefined;
}

export interface CommandServerConfig extends ServerOptions {
  command: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
}

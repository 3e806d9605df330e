import type { ScopeNames } from '../core/access/scopes.ts';

/** Token introspection (RFC 7662). */
export interface IntrospectionSettings {
  /** By default as the metadata of the issuer says. */
  url?: string | undefined;
  clientId: string;
  clientSecret: string;
}

/** How people sign in to the console (OpenID Connect, code flow with PKCE). */
export interface LoginSettings {
  clientId: string;
  clientSecret?: string | undefined;
  /** How the secret is sent; by default as the metadata of the issuer says. */
  clientAuth?: 'basic' | 'post' | undefined;
  /** By default the host name of the issuer. */
  title?: string | undefined;
  /** Requested besides `openid`; by default the scopes `use` and `answer`. */
  scopes?: readonly string[] | undefined;
  /** More parameters for the authorization endpoint. */
  parameters: Readonly<Record<string, string>>;
  /** Claims that the ID token must have. */
  claims: Readonly<Record<string, string>>;
  sessionMs: number;
}

export interface IssuerSettings {
  issuer: string;
  /** Accepted besides the addresses of the gateway. */
  audiences: readonly string[];
  /** By default as the metadata of the issuer says. */
  jwksUrl?: string | undefined;
  introspection?: IntrospectionSettings | undefined;
  /** The claim that identifies the principal. */
  principalClaim: string;
  /** The claim with the scopes. */
  scopeClaim: string;
  console?: LoginSettings | undefined;
}

export interface AuthSettings {
  issuers: readonly IssuerSettings[];
  /** `false`: tokens need no scopes. */
  scopes: ScopeNames | false;
}

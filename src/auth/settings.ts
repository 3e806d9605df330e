import type { ScopeNames } from './scope.ts';

/** How tokens that only their issuer can read are checked (RFC 7662). */
export interface IntrospectionSettings {
  /** By default as the metadata of the issuer says. */
  url?: string | undefined;
  clientId: string;
  clientSecret: string;
}

export interface IssuerSettings {
  issuer: string;
  /** Accepted beside the addresses of the gateway. */
  audiences: readonly string[];
  /** By default as the metadata of the issuer says. */
  jwksUrl?: string | undefined;
  introspection?: IntrospectionSettings | undefined;
  /** The claim that tells principals apart. */
  principalClaim: string;
  /** The claim with the scopes. */
  scopeClaim: string;
}

export interface AuthSettings {
  issuers: readonly IssuerSettings[];
  scopes: ScopeNames | false;
}

/** The gateway as a protected resource of authorization servers (RFC 9728, RFC 6750). */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError, type ErrorCode } from '../../core/errors.ts';
import type { Bearer, Logins, Scope, TokenVerifier } from '../../core/ports/identity.ts';
import { respondError } from './response.ts';

/** The configuration of authorization servers. */
export interface IssuerAuth {
  verifier: TokenVerifier;
  issuers: readonly string[];
  /** The name of each scope; `false` if tokens need none. */
  scopes: Record<Scope, string> | false;
  /** The URL of the gateway for clients, without a path; by default where it listens. */
  publicUrl?: string | undefined;
  /** Signs people in to the console; absent if no issuer is configured for that. */
  logins?: Logins;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const METHODS = 'GET, HEAD, OPTIONS';
const ORDER: readonly Scope[] = ['use', 'answer', 'operate'];

/** The path of the resource at a request path; `undefined` if there is none. Some clients append `/mcp` to the configured URL. */
function resourcePath(path: string): string | undefined {
  return /^(\/mcp(?:\/[^/]+)?)(?:\/mcp)?$/.exec(path)?.[1];
}

/** A refused request, with the header that tells the client how to get a valid token. */
export class AuthError extends GatewayError {
  readonly challenge: string;

  constructor(code: ErrorCode, message: string, challenge: string) {
    super(code, message);
    this.challenge = challenge;
  }
}

export class ProtectedResource {
  readonly #auth: IssuerAuth;
  /** Where the gateway listens; known only once it does. */
  readonly #listening: () => string;

  constructor(auth: IssuerAuth, listening: () => string) {
    this.#auth = auth;
    this.#listening = listening;
  }

  /** The URL of the gateway, without a path. */
  get base(): string {
    return this.#auth.publicUrl ?? new URL(this.#listening()).origin;
  }

  get logins(): Logins | undefined {
    return this.#auth.logins;
  }

  get scopes(): IssuerAuth['scopes'] {
    return this.#auth.scopes;
  }

  /** Answers requests for metadata; `false` for other requests. It is public, because it tells clients where to get a token. */
  describe(req: IncomingMessage, res: ServerResponse, path: string): boolean {
    if (path !== WELL_KNOWN && !path.startsWith(`${WELL_KNOWN}/`)) return false;
    // Pages read it before they have a token, and may send custom headers.
    res.setHeader('access-control-allow-origin', '*');
    const asked = path.slice(WELL_KNOWN.length);
    const of = asked === '' ? '' : resourcePath(asked);
    if (req.method === 'OPTIONS') {
      res.setHeader('access-control-allow-methods', METHODS);
      res.setHeader('access-control-allow-headers', '*');
      res.setHeader('access-control-max-age', '600');
      res.writeHead(204).end();
      return true;
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      respondError(res, 405, -32000, `method ${req.method} is not allowed`, { headers: { allow: METHODS } });
      return true;
    }
    if (of === undefined) {
      respondError(res, 404, -32000, `no resource '${asked}'; the hub is at /mcp, and each server at /mcp/<its name>`);
      return true;
    }
    const { issuers, scopes } = this.#auth;
    const metadata = {
      resource: `${this.base}${of}`,
      authorization_servers: issuers,
      ...(scopes && { scopes_supported: [scopes.use] }),
      bearer_methods_supported: ['header'],
      resource_name: 'Meanwhile',
    };
    const body = JSON.stringify(metadata);
    res.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'max-age=300',
    });
    res.end(req.method === 'HEAD' ? undefined : body);
    return true;
  }

  /** The owner of a token that is valid at this path and has the scope. Synchronous for a recently seen token. */
  bearerOf(token: string, path: string, needed: Scope): Bearer | Promise<Bearer> {
    const refuse = (error: unknown): never => {
      if (!(error instanceof GatewayError) || error.code !== 'TOOL_ERR_UNAUTHORIZED') throw error;
      throw this.refused(path, error.message);
    };
    try {
      const bearer = this.#auth.verifier.verify(token);
      if (!(bearer instanceof Promise)) return this.#admitted(bearer, path, needed);
      return bearer.then((found) => this.#admitted(found, path, needed)).catch(refuse);
    } catch (error) {
      return refuse(error);
    }
  }

  /** The token is missing or invalid: the client must get a new one. */
  refused(path: string, why?: string): AuthError {
    const { scopes } = this.#auth;
    const message =
      why ?? 'send an access token as "Authorization: Bearer …"; the header www-authenticate says where to get one';
    const challenge = this.#challenge(path, {
      ...(scopes && { scope: scopes.use }),
      ...(why !== undefined && { error: 'invalid_token', error_description: why }),
    });
    return new AuthError('TOOL_ERR_UNAUTHORIZED', message, challenge);
  }

  /** The client sends a token in a way that is not allowed. */
  malformed(path: string, why: string): AuthError {
    const challenge = this.#challenge(path, { error: 'invalid_request', error_description: why });
    return new AuthError('TOOL_ERR_INVALID_ARGUMENT', why, challenge);
  }

  #admitted(bearer: Bearer, path: string, needed: Scope): Bearer {
    const { audiences, scope } = bearer;
    if (audiences !== 'any' && !this.#isFor(audiences, path)) {
      const fix = 'the operator can accept another audience with auth.issuers[].audiences';
      throw this.refused(
        path,
        `the token is not valid: it was not issued for ${this.base}${resourcePath(path) ?? '/mcp'}; ${fix}`,
      );
    }
    const { scopes } = this.#auth;
    if (scopes === false || (scope !== undefined && ORDER.indexOf(scope) >= ORDER.indexOf(needed))) return bearer;
    const name = scopes[needed];
    const message = `the token lacks the scope ${name}`;
    throw new AuthError(
      'TOOL_ERR_NOT_ALLOWED',
      message,
      this.#challenge(path, { error: 'insufficient_scope', scope: name, error_description: message }),
    );
  }

  /** A token for the hub or the whole gateway is valid at every endpoint; a token for one endpoint only there. */
  #isFor(audiences: readonly string[], path: string): boolean {
    const base = this.base;
    const of = resourcePath(path);
    const accepted = new Set([base, `${base}/`, `${base}/mcp`]);
    // Also under the URL that the client uses, which may be the longer one.
    if (of !== undefined) accepted.add(`${base}${of}`).add(`${base}${path}`);
    return audiences.some((audience) => accepted.has(audience));
  }

  #challenge(path: string, parameters: Record<string, string>): string {
    const of = resourcePath(path) ?? '/mcp';
    const all = { ...parameters, resource_metadata: `${this.base}${WELL_KNOWN}${of}` };
    // It must not contain quotes or line ends.
    const quoted = (text: string): string => text.replaceAll(/[^\x20-\x7e]|["\\]/g, "'");
    return `Bearer ${Object.entries(all)
      .map(([name, value]) => `${name}="${quoted(value)}"`)
      .join(', ')}`;
  }
}

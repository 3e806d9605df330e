import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../core/errors.ts';
import type { Identity } from '../../core/ports/identity.ts';
import { LOCAL_PRINCIPAL } from '../../lib/local-principal.ts';
import { ProtectedResource, type IssuerAuth } from './protected-resource.ts';

export interface GuardSettings {
  host: string;
  auth: { tokens: Record<string, string> };
  /** Absent without authorization servers. */
  issuerAuth?: IssuerAuth | undefined;
  allowedHosts: string[];
  allowedOrigins: string[];
}

const SEND_TOKEN = 'send a known token as "Authorization: Bearer …"';

const LOCAL: Identity = { principal: LOCAL_PRINCIPAL };

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Decides which requests are accepted. A page in a browser on this machine can send requests, also under a host name that
 * resolves to this machine; the Host and Origin headers show it. Requests from other machines need a token.
 */
export class Guard {
  readonly #hosts: Set<string>;
  /** The last accepted Host header, which is usually also the next one. */
  #lastHost: string | undefined;
  readonly #origins: Set<string>;
  readonly #tokens: [identity: Identity, digest: Buffer][];
  /** Absent without authorization servers. */
  readonly resource: ProtectedResource | undefined;

  /** `listening`: the address of the gateway, once it listens. */
  constructor({ host, auth, issuerAuth, allowedHosts, allowedOrigins }: GuardSettings, listening: () => string) {
    this.resource = issuerAuth && new ProtectedResource(issuerAuth, listening);
    this.#tokens = Object.entries(auth.tokens).map(([principal, token]) => [{ principal }, digest(token)]);
    if (!isLoopback(host) && this.isOpen) {
      throw new GatewayError(
        'TOOL_ERR_NOT_ALLOWED',
        `refusing to listen on '${host}' without authentication: set meanwhile.auth.tokens or meanwhile.auth.issuers in the config, or listen on 127.0.0.1`,
      );
    }
    const hosts = [...LOOPBACK, host, ...allowedHosts];
    this.#hosts = new Set(hosts.map((name) => hostnameOf(`http://${name}`) ?? name.toLowerCase()));
    this.#origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  }

  /** Throws if the host name or the origin of the request is not allowed. */
  checkOrigin(req: IncomingMessage): void {
    this.checkHost(req);
    const { origin } = req.headers;
    if (origin !== undefined && !this.#knowsOrigin(origin)) {
      throw new GatewayError(
        'TOOL_ERR_NOT_ALLOWED',
        `Origin '${origin}' is not allowed; the operator can add it to meanwhile.allowedOrigins`,
      );
    }
  }

  /** Throws if the request is addressed to a host name that is not allowed. */
  checkHost({ headers: { host = '' } }: IncomingMessage): void {
    if (this.#knowsHost(host)) return;
    throw new GatewayError(
      'TOOL_ERR_NOT_ALLOWED',
      `Host '${host}' is not allowed; the operator can add it to meanwhile.allowedHosts`,
    );
  }

  /** No token is required. */
  get isOpen(): boolean {
    return this.#tokens.length === 0 && this.resource === undefined;
  }

  /** The sender of a request; throws if its token is unknown. A promise if an authorization server must be asked. */
  identityOf(req: IncomingMessage, path: string): Identity | Promise<Identity> {
    if (this.isOpen) return LOCAL;
    const { resource } = this;
    const token = /^Bearer +(.+)$/i.exec(req.headers.authorization ?? '')?.[1] ?? '';
    const known = this.#identityWith(token);
    if (known !== undefined) return known;
    if (resource === undefined) throw new GatewayError('TOOL_ERR_UNAUTHORIZED', SEND_TOKEN);
    checkToken(req, token, path, resource);
    return resource.bearerOf(token, path, 'use');
  }

  /** The principal of this token. */
  principalWith(token: string): string | undefined {
    return this.#identityWith(token)?.principal;
  }

  #identityWith(token: string): Identity | undefined {
    const presented = digest(token);
    return this.#tokens.find(([, known]) => timingSafeEqual(known, presented))?.[0];
  }

  /** The digest of the token of a principal. */
  tokenDigest(principal: string): Buffer | undefined {
    return this.#tokens.find(([known]) => known.principal === principal)?.[1];
  }

  #knowsHost(host: string): boolean {
    if (host === this.#lastHost) return true;
    const hostname = hostnameOf(`http://${host}`);
    const known = hostname !== undefined && (this.#hosts.has(hostname) || isLoopback(hostname));
    if (known) this.#lastHost = host;
    return known;
  }

  #knowsOrigin(origin: string): boolean {
    if (this.#origins.has(origin.toLowerCase())) return true;
    const hostname = hostnameOf(origin);
    return hostname !== undefined && isLoopback(hostname);
  }
}

/** Throws if there is no token, or if it is in the URL. */
function checkToken({ headers, url = '' }: IncomingMessage, token: string, path: string, at: ProtectedResource): void {
  if (/[?&]access_token=/.test(url)) throw at.malformed(path, 'a token must not be in the URL; send it in a header');
  if (headers.authorization === undefined) throw at.refused(path);
  if (!/^[\w.~+/-]+=*$/.test(token)) throw at.malformed(path, 'expected "Authorization: Bearer" and a token');
}

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../../core/errors.ts';

export interface GuardSettings {
  host: string;
  auth: { tokens: Record<string, string> };
  allowedHosts: string[];
  allowedOrigins: string[];
}

/** The principal of a gateway without tokens, which only this machine can reach, and of standard input. */
export const LOCAL_PRINCIPAL = 'local';

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
  /** The Host header that was accepted last, which is nearly always the next one too. */
  #lastHost: string | undefined;
  readonly #origins: Set<string>;
  readonly #tokens: [principal: string, digest: Buffer][];

  constructor({ host, auth, allowedHosts, allowedOrigins }: GuardSettings) {
    this.#tokens = Object.entries(auth.tokens).map(([principal, token]) => [principal, digest(token)]);
    if (!isLoopback(host) && this.#tokens.length === 0) {
      throw new GatewayError(
        'TOOL_ERR_NOT_ALLOWED',
        `refusing to listen on '${host}' without authentication: set meanwhile.auth.tokens in the config, or listen on 127.0.0.1`,
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

  /** The principal of a request; throws if its token is unknown. */
  principalOf({ headers: { authorization } }: IncomingMessage): string {
    if (this.#tokens.length === 0) return LOCAL_PRINCIPAL;
    const known = this.principalWith(/^Bearer +(.+)$/i.exec(authorization ?? '')?.[1] ?? '');
    if (known === undefined) {
      throw new GatewayError('TOOL_ERR_UNAUTHORIZED', 'send a known token as "Authorization: Bearer …"');
    }
    return known;
  }

  /** The principal that has this token. */
  principalWith(token: string): string | undefined {
    const presented = digest(token);
    return this.#tokens.find(([, known]) => timingSafeEqual(known, presented))?.[0];
  }

  /** The digest of the token of a principal. */
  tokenDigest(principal: string): Buffer | undefined {
    return this.#tokens.find(([known]) => known === principal)?.[1];
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

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** An MCP server's metadata and its authorization server, made by hand so that a test can let them do what no real one does. */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { defer } from '../../support/owned.ts';

export interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** The fields of a form. */
  form: Record<string, string>;
}

interface Grant {
  clientId: string;
  challenge: string | null;
  redirectUri: string | null;
  resource: string | null;
  scope: string;
}

/** What an answer is, in place of the usual one; `undefined` for the usual one. */
export type Intervene = (
  asked: Asked,
) =>
  | { status?: number; body?: unknown; location?: string; headers?: Record<string, string> }
  | undefined
  | Promise<{ status?: number; body?: unknown; location?: string } | undefined>;

export interface HandmadeServer {
  /** The issuer. */
  issuer: string;
  /** The MCP server. */
  url: string;
  /** Over its metadata; `undefined` leaves a member out. */
  metadata: Record<string, unknown>;
  resourceMetadata: Record<string, unknown>;
  /** It has no resource metadata at all. */
  withoutResourceMetadata: boolean;
  /** Over the parameters that people come back with; `undefined` leaves one out. */
  response: Record<string, string | undefined>;
  expiresIn: number | undefined;
  /** Whether it issues refresh tokens. */
  refreshes: boolean;
  /** Answers something else. */
  intervene: Intervene;
  /** What was asked of it, in order. */
  asked: Asked[];
  askedFor(path: string): Asked[];
  /** The access tokens that are valid. */
  valid: Set<string>;
  revoked: string[];
  /** Refresh tokens are of no use from now on. */
  forgetRefreshTokens(): void;
}

const METHODS = ['none', 'client_secret_basic', 'client_secret_post'];

export async function handmadeServer({ path = '' }: { path?: string } = {}): Promise<HandmadeServer> {
  const codes = new Map<string, Grant>();
  const refreshTokens = new Map<string, Grant>();
  const clients = new Map<string, { secret?: string }>();
  const http = createServer((req, res) => void answer(req, res)).listen(0, '127.0.0.1');
  await once(http, 'listening');
  defer(async () => {
    http.closeAllConnections();
    http.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const issuer = `${origin}${path}`;

  const issue = (grant: Grant): object => {
    const accessToken = `at-${randomUUID()}`;
    const refreshToken = `rt-${randomUUID()}`;
    server.valid.add(accessToken);
    if (server.refreshes) refreshTokens.set(refreshToken, grant);
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      ...(server.expiresIn !== undefined && { expires_in: server.expiresIn }),
      ...(server.refreshes && { refresh_token: refreshToken }),
      ...(grant.scope !== '' && { scope: grant.scope }),
    };
  };

  const authenticated = ({ form, headers }: Asked): string | undefined => {
    const [scheme, credentials = ''] = (headers.authorization ?? '').split(' ');
    const [id = '', secret] =
      scheme === 'Basic'
        ? Buffer.from(credentials, 'base64')
            .toString()
            .split(':')
            .map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
        : [form['client_id'], form['client_secret']];
    const known = clients.get(id);
    return known !== undefined && known.secret === secret ? id : undefined;
  };

  const usual: Record<string, (asked: Asked) => { status?: number; body?: unknown; location?: string }> = {
    '/register': ({ body }) => {
      const wanted = JSON.parse(body) as Record<string, unknown>;
      const id = `client-${clients.size + 1}`;
      const secret = wanted['token_endpoint_auth_method'] === 'none' ? undefined : `secret: of/${id}+é`;
      clients.set(id, secret === undefined ? {} : { secret });
      return {
        status: 201,
        body: { ...wanted, client_id: id, ...(secret !== undefined && { client_secret: secret }) },
      };
    },
    '/authorize': ({ path: whole }) => {
      const query = new URL(whole, origin).searchParams;
      const code = `code-${randomUUID()}`;
      codes.set(code, {
        clientId: query.get('client_id') ?? '',
        challenge: query.get('code_challenge'),
        redirectUri: query.get('redirect_uri'),
        resource: query.get('resource'),
        scope: query.get('scope') ?? '',
      });
      const back = new URL(query.get('redirect_uri') ?? '');
      const state = query.get('state') ?? undefined;
      for (const [name, value] of Object.entries({ code, state, iss: issuer, ...server.response })) {
        if (value !== undefined) back.searchParams.set(name, value);
      }
      return { status: 302, location: back.href };
    },
    '/token': (asked) => {
      const { form } = asked;
      const clientId = authenticated(asked);
      if (clientId === undefined) return { status: 401, body: { error: 'invalid_client' } };
      const isCode = form['grant_type'] === 'authorization_code';
      const store = isCode ? codes : refreshTokens;
      const key = form[isCode ? 'code' : 'refresh_token'] ?? '';
      if (form['grant_type'] === 'client_credentials') {
        return {
          body: issue({ clientId, challenge: null, redirectUri: null, resource: null, scope: form['scope'] ?? '' }),
        };
      }
      const grant = store.get(key);
      // Each is good once.
      store.delete(key);
      const challenge = createHash('sha256')
        .update(form['code_verifier'] ?? '')
        .digest('base64url');
      const fits = !isCode || (grant?.challenge === challenge && grant.redirectUri === form['redirect_uri']);
      if (grant === undefined || grant.clientId !== clientId || grant.resource !== form['resource'] || !fits)
        return { status: 400, body: { error: 'invalid_grant', error_description: 'unknown, or used before' } };
      return { body: issue(grant) };
    },
    '/revoke': ({ form }) => {
      server.revoked.push(form['token'] ?? '');
      refreshTokens.delete(form['token'] ?? '');
      return { body: {} };
    },
  };

  const documents = (): Record<string, unknown> => ({
    [`/.well-known/oauth-authorization-server${path}`]: {
      issuer,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      revocation_endpoint: `${origin}/revoke`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: METHODS,
      authorization_response_iss_parameter_supported: true,
      ...server.metadata,
    },
    ...(!server.withoutResourceMetadata && {
      '/.well-known/oauth-protected-resource/mcp': {
        resource: server.url,
        authorization_servers: [issuer],
        ...server.resourceMetadata,
      },
    }),
  });

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const body = await text(req);
    const whole = req.url ?? '';
    const { pathname } = new URL(whole, origin);
    const asked: Asked = {
      method: req.method ?? '',
      path: whole,
      headers: req.headers,
      body,
      form: Object.fromEntries(new URLSearchParams(body)),
    };
    server.asked.push(asked);
    const document = documents()[pathname];
    const result =
      (await server.intervene(asked)) ??
      usual[pathname]?.(asked) ??
      (document === undefined ? { status: 404, body: { error: 'not found' } } : { body: document });
    const { status = 200, location } = result;
    res.writeHead(status, { 'content-type': 'application/json', ...(location !== undefined && { location }) });
    res.end(JSON.stringify(result.body ?? {}));
  };

  const server: HandmadeServer = {
    issuer,
    url: `${origin}/mcp`,
    metadata: {},
    resourceMetadata: {},
    withoutResourceMetadata: false,
    response: {},
    expiresIn: 3600,
    refreshes: true,
    intervene: () => undefined,
    asked: [],
    askedFor: (wanted) => server.asked.filter((each) => each.path.split('?')[0] === wanted),
    valid: new Set(),
    revoked: [],
    forgetRefreshTokens: () => refreshTokens.clear(),
  };
  return server;
}

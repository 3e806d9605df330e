/** A real authorization server where people sign in with a form. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { defer } from '../support/owned.ts';
import { provider } from './authorization-server.ts';

/** The same for all: to make one takes a while. */
let key: ReturnType<typeof generateKeyPair> | undefined;

const SCOPES = ['mcp:use', 'mcp:answer', 'mcp:operate'];

/** Which scopes people have; everybody else has none. */
const GRANTED: Record<string, string[]> = {
  ann: ['mcp:use', 'mcp:answer'],
  viewer: ['mcp:use'],
  boss: SCOPES,
};

interface Grant {
  addOIDCScope(scope: string): void;
  rejectOIDCScope(scope: string): void;
  save(): Promise<string>;
}

interface Context {
  oidc: {
    provider: { Grant: new (of: object) => Grant };
    client: { clientId: string };
    session: { accountId: string };
  };
}

export interface LoginServer {
  issuer: string;
  client: { clientId: string; clientSecret: string };
}

/** `gateway`: where people come back to. `host`: another one than that of the gateway makes it another site for browsers. */
export async function startLoginServer(gateway: string, host = '127.0.0.1'): Promise<LoginServer> {
  const { default: Provider } = await provider();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`;
  const client = { clientId: 'console', clientSecret: 'the-secret-of-the-console' };
  key ??= generateKeyPair('RS256', { extractable: true });
  const { privateKey } = await key;
  const callback = new Provider(issuer, {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }] },
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: [`${gateway}/console/callback`],
        post_logout_redirect_uris: [`${gateway}/console`],
      },
    ],
    cookies: { keys: ['only for tests'] },
    scopes: ['openid', ...SCOPES],
    pkce: { required: () => true },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    loadExistingGrant: async ({ oidc }: Context) => {
      const { client: of, session, provider: made } = oidc;
      const grant = new made.Grant({ clientId: of.clientId, accountId: session.accountId });
      const scopes = GRANTED[session.accountId] ?? [];
      grant.addOIDCScope(['openid', ...scopes].join(' '));
      for (const scope of SCOPES) if (!scopes.includes(scope)) grant.rejectOIDCScope(scope);
      await grant.save();
      return grant;
    },
  }).callback();
  if (callback === undefined) throw new Error('no callback');
  server.on('request', callback);
  return { issuer, client };
}

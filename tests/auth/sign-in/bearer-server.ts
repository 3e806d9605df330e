/** An MCP server that the SDK protects (`requireBearerAuth`): a resource server that does not share a line with the gateway. */
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
  type AuthInfo,
  type OAuthMetadata,
  type OAuthTokenVerifier,
} from '@modelcontextprotocol/server';
import { listen } from '../../servers/shared/http-host.ts';
import { buildV2Server, newV2State } from '../../servers/v2-server.ts';
import { owned } from '../../support/owned.ts';

export interface BearerServerOptions {
  /** The audience that it wants; its own URL if absent. */
  audience?: string;
  /** The authorization server that it names; that of the tokens if absent. */
  named?: string;
}

export interface BearerServer {
  url: string;
  /** Who was let in, in order. */
  admitted: AuthInfo[];
  /** How many requests were refused. */
  refused: number;
}

export async function bearerServer(
  issuer: string,
  { audience, named = issuer }: BearerServerOptions = {},
): Promise<BearerServer> {
  const state = newV2State();
  const onerror = (error: unknown): void => void state.errors.push(String(error));
  const metadata = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as OAuthMetadata;
  const mcp = createMcpHandler(() => buildV2Server(state), { onerror });
  const guarded = async (request: Request): Promise<Response> => {
    const resourceServerUrl = new URL(server.url);
    const oauthMetadata = { ...metadata, issuer: named };
    const document = oauthMetadataResponse(request, {
      oauthMetadata,
      resourceServerUrl,
      scopesSupported: ['mcp:use'],
      dangerouslyAllowInsecureIssuerUrl: true,
    });
    if (document !== undefined) return document;
    const gate = requireBearerAuth({
      verifier: verifierFor(issuer),
      requiredScopes: ['mcp:use'],
      resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resourceServerUrl),
      expectedResource: new URL(audience ?? server.url),
    });
    const who = await gate(request);
    if (who instanceof Response) {
      server.refused += 1;
      return who;
    }
    server.admitted.push(who);
    return mcp.fetch(request, { authInfo: who });
  };
  const handle = toNodeHandler({ fetch: guarded }, { onerror });
  const host = owned(
    await listen({
      port: undefined,
      onerror,
      handle: async (request, response) => handle(request as NodeIncomingMessageLike, response),
    }),
  );
  const server: BearerServer = { url: `http://127.0.0.1:${host.port}/mcp`, admitted: [], refused: 0 };
  return server;
}

function verifierFor(issuer: string): OAuthTokenVerifier {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  return {
    verifyAccessToken: async (token) => {
      const { payload } = await jwtVerify(token, keys, { issuer }).catch((error: unknown) => {
        throw new OAuthError(OAuthErrorCode.InvalidToken, String(error));
      });
      const { client_id: clientId, scope, exp: expiresAt, aud } = payload;
      return {
        token,
        clientId: String(clientId),
        scopes: String(scope).split(' '),
        resource: new URL(String(aud)),
        ...(expiresAt !== undefined && { expiresAt }),
      };
    },
  };
}

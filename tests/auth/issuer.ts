/** An issuer whose tokens the test makes itself, also those that no real authorization server would issue. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { defer } from '../support/owned.ts';

export interface HandmadeIssuer {
  url: string;
  /** What was asked of it, in order. */
  asked: string[];
  /** It answers with status 500. */
  broken: boolean;
  /** Another name in its metadata. */
  metadataIssuer?: string;
  /** Over the rest of its metadata. */
  metadata: Record<string, unknown>;
  /** What its token endpoint answers, and what it was sent. */
  tokenAnswer: { status: number; body: unknown };
  redeemed: { fields: URLSearchParams; authorization: string | undefined }[];
  /** What it says of tokens that only it can read. */
  opaque: Record<string, Record<string, unknown>>;
  /** Signs with the current key; `null` leaves a claim out. */
  token(claims?: Record<string, unknown>, header?: { alg?: string; kid?: string; typ?: string }): Promise<string>;
  /** From now on there is another key only. */
  rollOver(): Promise<void>;
  publicKey: JWK;
}

export async function handmadeIssuer(audience: string): Promise<HandmadeIssuer> {
  let key: CryptoKey;
  let number = 0;
  const server = createServer((req, res) => void answer(req, res)).listen(0, '127.0.0.1');
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = req.url ?? '';
    issuer.asked.push(path);
    if (issuer.broken) {
      res.writeHead(500).end();
      return;
    }
    if (path === '/token') {
      const { authorization } = req.headers;
      issuer.redeemed.push({ fields: new URLSearchParams(await text(req)), authorization });
      const { status, body } = issuer.tokenAnswer;
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    const token = path === '/introspect' ? new URLSearchParams(await text(req)).get('token') : null;
    const answers: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer: issuer.metadataIssuer ?? issuer.url,
        jwks_uri: `${issuer.url}/keys`,
        introspection_endpoint: `${issuer.url}/introspect`,
        authorization_endpoint: `${issuer.url}/authorize`,
        token_endpoint: `${issuer.url}/token`,
        ...issuer.metadata,
      },
      '/keys': { keys: [issuer.publicKey] },
      '/introspect': { active: false, ...issuer.opaque[token ?? ''] },
    };
    const found = answers[path];
    res.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(found ?? {}));
  };
  await once(server, 'listening');
  defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  const issuer: HandmadeIssuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    broken: false,
    metadata: {},
    tokenAnswer: { status: 400, body: { error: 'invalid_grant' } },
    redeemed: [],
    opaque: {},
    publicKey: {},
    token: async (claims = {}, header = {}) => {
      const now = Math.floor(Date.now() / 1000);
      const standard = { iss: issuer.url, sub: 'ann', aud: audience, scope: 'mcp:use', iat: now, exp: now + 600 };
      const all = Object.entries({ ...standard, ...claims }).filter(([, value]) => value !== null);
      return new SignJWT(Object.fromEntries(all))
        .setProtectedHeader({ alg: 'ES256', kid: `key-${number}`, ...header })
        .sign(key);
    },
    rollOver: async () => {
      number += 1;
      const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
      key = privateKey;
      issuer.publicKey = { ...(await exportJWK(publicKey)), kid: `key-${number}`, alg: 'ES256', use: 'sig' };
    },
  };
  await issuer.rollOver();
  return issuer;
}

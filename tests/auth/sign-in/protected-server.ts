/** A real MCP server that serves only those who have a token of an authorization server. */
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { defer, owned } from '../../support/owned.ts';
import { handmadeServer, type HandmadeServer } from '../accounts/handmade-server.ts';

export interface ProtectedServer {
  url: string;
  authorization: HandmadeServer;
  /** The `Authorization` headers of all requests to the MCP server. */
  received: (string | undefined)[];
  /** The scope that a tool needs, by its name; tokens have what was asked for last. */
  needs: Record<string, string>;
  /** Nobody's token is valid any more. */
  expireTokens(): void;
}

const METADATA = '/.well-known/oauth-protected-resource';

export async function protectedServer(sdk: 'v1' | 'v2' = 'v2'): Promise<ProtectedServer> {
  const authorization = await handmadeServer();
  const behind = owned(await (sdk === 'v1' ? startV1Http() : startV2Http()));
  const http = createServer((req, res) => void handle(req, res)).listen(0, '127.0.0.1');
  await once(http, 'listening');
  defer(async () => {
    http.closeAllConnections();
    http.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server: ProtectedServer = {
    url: `${origin}/mcp`,
    authorization,
    received: [],
    needs: {},
    expireTokens: () => authorization.valid.clear(),
  };

  const refuse = (res: ServerResponse, status: number, parameters: Record<string, string>): void => {
    const all = { ...parameters, resource_metadata: `${origin}${METADATA}/mcp` };
    const challenge = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
    res.writeHead(status, { 'www-authenticate': `Bearer ${challenge.join(', ')}` }).end();
  };

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.url?.startsWith(METADATA)) {
      const document = { resource: server.url, authorization_servers: [authorization.issuer] };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { authorization: given } = req.headers;
    server.received.push(given);
    const token = given?.replace('Bearer ', '') ?? '';
    if (!authorization.valid.has(token)) {
      refuse(res, 401, given === undefined ? {} : { error: 'invalid_token' });
      return;
    }
    const needed = server.needs[toolIn(body) ?? ''];
    if (needed !== undefined && !grantedBy(authorization).includes(needed)) {
      refuse(res, 403, { error: 'insufficient_scope', scope: needed });
      return;
    }
    const { port } = new URL(behind.url);
    const forwarded = request({ port, path: '/mcp', method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(res);
    });
    forwarded.on('error', () => res.destroy());
    res.on('close', () => forwarded.destroy());
    forwarded.end(body);
  }
  return server;
}

function grantedBy(authorization: HandmadeServer): string[] {
  const last = authorization.askedFor('/authorize').at(-1)?.path ?? '';
  return (new URL(last, 'http://host').searchParams.get('scope') ?? '').split(' ');
}

function toolIn(body: Buffer): string | undefined {
  const { method, params } = (body.length === 0 ? {} : JSON.parse(body.toString())) as Record<string, unknown>;
  return method === 'tools/call' ? (params as { name: string }).name : undefined;
}

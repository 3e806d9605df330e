import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { portToReturnTo } from '../../support/port-to-return-to.ts';

export interface HttpHost {
  readonly port: number;
  /** Destroys every open socket; the host goes on listening. */
  breakStreams(): void;
  /** Stops listening and destroys every open socket. Calling it again changes nothing. */
  close(): Promise<void>;
}

export interface HttpHostOptions {
  /** The one to return to; without it, any. */
  readonly port: number | undefined;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly onerror: (error: unknown) => void;
}

export async function listen({ port, handle, onerror }: HttpHostOptions): Promise<HttpHost> {
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    handle(request, response).catch((error: unknown) => {
      onerror(error);
      response.destroy();
    });
  });
  while (!server.listening) {
    await bind(server, port ?? portToReturnTo()).catch((error: NodeJS.ErrnoException) => {
      if (port !== undefined || error.code !== 'EADDRINUSE') throw error;
    });
  }
  const stop = () =>
    new Promise<void>((resolve, reject) => {
      server.close((error) => (error === undefined ? resolve() : reject(error)));
      server.closeAllConnections();
    });
  let stopped: Promise<void> | undefined;
  return {
    port: (server.address() as AddressInfo).port,
    breakStreams: () => server.closeAllConnections(),
    close: () => (stopped ??= stop()),
  };
}

async function bind(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

export function answer(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }));
}

export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
}

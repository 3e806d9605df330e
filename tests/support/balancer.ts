/** Sends each request to the next of several gateways, whatever it is about, and streams in both directions. */
import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Balancer {
  /** Without a path. */
  origin: string;
  close(): Promise<void>;
}

/** `origins` are the addresses of the gateways, without a path. */
export async function startBalancer(origins: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const server: Server = createServer((incoming, answer) => {
    const { method = 'GET', url = '/', headers } = incoming;
    turn += 1;
    const target = new URL(url, origins[turn % origins.length]);
    const outgoing = request(target, { method, agent, headers: { ...headers, host: target.host } });
    outgoing.once('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      response.pipe(answer);
      response.once('error', () => answer.destroy());
    });
    outgoing.once('error', () => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end();
    });
    // A client that leaves is one that leaves the gateway, too.
    answer.once('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      agent.destroy();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

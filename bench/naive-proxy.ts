/**
 * How one would first write a proxy: the SDK's server in front, the SDK's client behind, everything at its defaults.
 * Argument: origin of the backend. Sends its own origin to its parent.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

const INFO = { name: 'naive-proxy', version: '1.0.0' };
const [backend = ''] = process.argv.slice(2);

async function connect(path: string): Promise<Client> {
  const client = new Client(INFO, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(path, backend)));
  return client;
}

function serverFor(client: Client): Server {
  const server = new Server(INFO, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => client.listTools());
  server.setRequestHandler('tools/call', ({ params: { name, arguments: args = {} } }) =>
    client.callTool({ name, arguments: args }),
  );
  return server;
}

const sessions = new Map<string, NodeStreamableHTTPServerTransport>();

async function legacy(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const known = sessions.get(String(req.headers['mcp-session-id']));
  const transport = known ?? (await newSession());
  await transport.handleRequest(req, res);
}

async function newSession(): Promise<NodeStreamableHTTPServerTransport> {
  const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await serverFor(await connect('/legacy')).connect(transport);
  return transport;
}

const shared = await connect('/modern');
const modern = toNodeHandler(createMcpHandler(() => serverFor(shared)));

const server = createServer((req, res) => {
  void (req.url === '/modern' ? modern(req as Parameters<typeof modern>[0], res) : legacy(req, res));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});

import { InMemoryTransport, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/client';

const ABOUT = { capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '1' } };

const LEGACY = { protocolVersion: '2025-11-25', ...ABOUT };
const MODERN = {
  resultType: 'complete',
  ttlMs: 0,
  cacheScope: 'private',
  supportedVersions: ['2026-07-28'],
  ...ABOUT,
};

export interface ScriptedServer {
  /** For the client. */
  transport: InMemoryTransport;
  /** Everything that the client sent. */
  received: JSONRPCMessage[];
  say: (message: Record<string, unknown>) => Promise<void>;
}

/** A server that introduces itself in one era and answers every other request as it is told, byte for byte. */
export async function scriptedServer(
  era: 'legacy' | 'modern',
  reply: (request: JSONRPCRequest) => Record<string, unknown> | undefined = () => ({ result: {} }),
): Promise<ScriptedServer> {
  const [transport, far] = InMemoryTransport.createLinkedPair();
  const received: JSONRPCMessage[] = [];
  const say = async (message: Record<string, unknown>): Promise<void> =>
    far.send({ jsonrpc: '2.0', ...message } as JSONRPCMessage);
  const introduction = (method: string): Record<string, unknown> | undefined => {
    if (method === 'initialize' && era === 'legacy') return { result: LEGACY };
    if (method !== 'server/discover') return undefined;
    return era === 'modern' ? { result: MODERN } : { error: { code: -32601, message: 'Method not found' } };
  };
  far.onmessage = (message) => {
    received.push(message);
    if (!('method' in message) || !('id' in message)) return;
    const answer = introduction(message.method) ?? reply(message);
    if (answer !== undefined) void say({ id: message.id, ...answer });
  };
  await far.start();
  return { transport, received, say };
}

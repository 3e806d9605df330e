import { Server, type JSONRPCMessage } from '@modelcontextprotocol/server';
import { expect, test, vi } from 'vitest';
import { MODERN_VERSION } from '../protocol.ts';
import { ModernTransport } from './modern-transport.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};

class Recording extends ModernTransport {
  readonly sent: JSONRPCMessage[] = [];

  override async send(message: JSONRPCMessage): Promise<void> {
    this.sent.push(message);
  }

  ask(method: string): void {
    this.receive({ jsonrpc: '2.0', id: 1, method, params: { _meta: META } });
  }
}

test('S-5: a protocol object on this transport serves the modern era, and sends only through `send`', async () => {
  const server = new Server(
    { name: 'test', version: '1' },
    { capabilities: {}, supportedProtocolVersions: [MODERN_VERSION] },
  );
  const handle = vi.fn(async () => ({ answer: 1 }));
  server.fallbackRequestHandler = handle;
  const transport = new Recording();
  await server.connect(transport);
  transport.ask('x/unknown');
  await expect.poll(() => transport.sent).toMatchObject([{ id: 1, result: { answer: 1, resultType: 'complete' } }]);
  const [, context] = handle.mock.calls[0] as unknown as [unknown, { mcpReq: { envelope: Record<string, unknown> } }];
  expect(context.mcpReq.envelope).toMatchObject(META);
  await transport.close();
});

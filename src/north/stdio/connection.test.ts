import { PassThrough } from 'node:stream';
import { InMemoryTransport, Server, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { expect, test, vi } from 'vitest';
import { TestClock } from '../../../tests/support/test-clock.ts';
import { turn } from '../../../tests/support/turn.ts';
import { MODERN_VERSION } from '../../lib/protocol.ts';
import type { Message, Params, RequestMessage } from '../message.ts';
import type { ModernEndpoint } from '../modern/endpoint.ts';
import { ClientPeer } from '../peer.ts';
import { StdioCarrier } from './carrier.ts';
import { StdioConnection, type StdioEndpoint } from './connection.ts';
import { StdioWire } from './wire.ts';

const INFO = { name: 'test', version: '1' };
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const META = {
  [VERSION_KEY]: MODERN_VERSION,
  'io.modelcontextprotocol/clientInfo': INFO,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO };

let lastId = 0;
function request(method: string, params: Params = {}): RequestMessage {
  lastId += 1;
  return { jsonrpc: '2.0', id: lastId, method, params };
}
const modern = (method: string, meta: Params = META): RequestMessage => request(method, { _meta: meta });
const notification = (method: string): Message => ({ jsonrpc: '2.0', method });

/** What a client can see of a reply: whether there is one, and what went wrong. */
interface Seen {
  id: unknown;
  code?: number;
  message?: string;
  era?: unknown;
}

function seen(message: Message): Seen[] {
  if ('method' in message) return [];
  if ('error' in message) {
    const { code, message: text } = message.error;
    return [{ id: message.id, code, message: text }];
  }
  return [{ id: message.id, era: message.result['resultType'] === undefined ? 'legacy' : 'modern' }];
}

const handle = async (): Promise<Params> => ({ a: 1 });

/** Sends the messages one after the other, each when the last one is answered. */
async function play(script: Message[], send: (message: Message) => void, replies: Message[]): Promise<Seen[]> {
  for (const message of script) {
    send(message);
    if (!('method' in message && 'id' in message)) continue;
    await vi.waitFor(() => expect(replies.some((reply) => 'id' in reply && reply.id === message.id)).toBe(true));
  }
  return replies.flatMap(seen);
}

async function oracle(script: Message[]): Promise<Seen[]> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const replies: Message[] = [];
  near.onmessage = (message) => replies.push(message as Message);
  const supportedProtocolVersions = [MODERN_VERSION, ...SUPPORTED_PROTOCOL_VERSIONS];
  const served = serveStdio(
    () => {
      const server = new Server(INFO, { capabilities: { tools: {} }, supportedProtocolVersions });
      server.fallbackRequestHandler = handle;
      return server;
    },
    { transport: far },
  );
  await near.start();
  const result = await play(script, (message) => void near.send(message), replies);
  await served.close();
  return result;
}

async function ours(script: Message[]): Promise<Seen[]> {
  const output = new PassThrough();
  const replies: Message[] = [];
  output.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split('\n')) replies.push(JSON.parse(line) as Message);
  });
  const input = new PassThrough();
  const carrier = new StdioCarrier(new StdioWire(input, output, 10_000), output);
  const connection = new StdioConnection(carrier, endpointFor(carrier), { onCancel: 'auto', onMistake: () => {} });
  carrier.onmessage = (message) => connection.receive(message);
  carrier.start();
  const result = await play(script, (message) => input.write(`${JSON.stringify(message)}\n`), replies);
  carrier.close();
  connection.close();
  return result;
}

function endpointFor(carrier: StdioCarrier, onNotification: (method: string) => void = () => {}): StdioEndpoint {
  const endpoint: ModernEndpoint = { serverInfo: INFO, introduce: () => ({}), handle, onNotification };
  return {
    legacy: async () => {
      const introduce = (protocolVersion: string) => ({ protocolVersion, capabilities: {}, serverInfo: INFO });
      const options = { onCancel: 'auto' as const, clock: new TestClock(), onMistake: () => {} };
      const peer = new ClientPeer(carrier, { introduce, handle, onNotification: () => {} }, options);
      return { peer, close: () => {} };
    },
    onModern: () => {},
    modern: async () => endpoint,
    listen: () => {},
    unlisten: () => false,
  };
}

test.each<[string, Message[]]>([
  ['initialize', [request('initialize', INITIALIZE), notification('notifications/initialized'), request('x/a')]],
  ['a first request without metadata', [request('x/a'), request('initialize', INITIALIZE), request('ping')]],
  ['a first request with metadata', [modern('x/a'), modern('x/b')]],
  ['`server/discover` and then a modern request', [modern('server/discover'), modern('x/a')]],
  [
    '`server/discover` and then `initialize`',
    [modern('server/discover'), request('initialize', INITIALIZE), request('x/a')],
  ],
  ['`server/discover` twice', [modern('server/discover'), modern('server/discover'), request('ping')]],
  ['incomplete metadata', [modern('x/a', { [VERSION_KEY]: MODERN_VERSION }), request('initialize', INITIALIZE)]],
  ['an unknown version', [modern('x/a', { ...META, [VERSION_KEY]: '2099-01-01' }), modern('x/a')]],
  ['`initialize` after a modern request', [modern('x/a'), request('initialize', INITIALIZE), modern('x/a')]],
  ['a request without metadata after a modern request', [modern('x/a'), request('x/a')]],
  ['invalid metadata in a later request', [modern('x/a'), modern('x/b', { ...META, [VERSION_KEY]: 5 })]],
  ['a legacy method in a modern connection', [modern('x/a'), modern('ping'), modern('initialize')]],
  ['a request with metadata within a session', [request('initialize', INITIALIZE), modern('x/a')]],
])('B-1, S-5: %s is answered as by the SDK', async (_what, script) => {
  expect(await ours(script)).toEqual(await oracle(script));
});

/** Receives notifications of a client that has no session, and tells what becomes of them. */
async function notified(metas: Params[]): Promise<{ heard: string[]; mistakes: string[] }> {
  const output = new PassThrough();
  const carrier = new StdioCarrier(new StdioWire(new PassThrough(), output, 10_000), output);
  const heard: string[] = [];
  const mistakes: string[] = [];
  const onNotification = (method: string): void => {
    if (method === 'x/fail') throw new Error('no');
    heard.push(method);
  };
  const connection = new StdioConnection(carrier, endpointFor(carrier, onNotification), {
    onCancel: 'auto',
    onMistake: (mistake) => mistakes.push(mistake),
  });
  for (const { method = 'x/a', ...meta } of metas) {
    connection.receive({ jsonrpc: '2.0', method: String(method), params: { _meta: meta } });
  }
  await turn();
  connection.close();
  return { heard, mistakes };
}

test.each<[string, Params, string]>([
  ['incomplete', { [VERSION_KEY]: MODERN_VERSION }, 'missing'],
  ['wrong', { ...META, [VERSION_KEY]: 5 }, 'expected string, received number'],
  ['of an unknown version', { ...META, [VERSION_KEY]: '2099-01-01' }, 'Unsupported protocol version'],
])('B-1, X-4: a first notification whose metadata is %s is dropped', async (_what, meta, mistake) => {
  const { heard, mistakes } = await notified([meta, META]);
  expect(heard).toEqual(['x/a']);
  expect(mistakes).toEqual([expect.stringContaining(mistake)]);
});

test('X-4: a notification whose handler fails is reported', async () => {
  expect(await notified([{ ...META, method: 'x/fail' }, META])).toEqual({ heard: ['x/a'], mistakes: ['no'] });
});

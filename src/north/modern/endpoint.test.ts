import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { MODERN_VERSION } from '../../lib/protocol.ts';
import { RpcError } from '../../lib/rpc-error.ts';
import type { Carrier } from '../carrier.ts';
import { ClientRequest } from '../client-request.ts';
import type { Params, RequestMessage } from '../message.ts';
import { answer } from '../open-requests.ts';
import { modernNotification, modernResult, type ModernCall, type ModernEndpoint } from './endpoint.ts';

const INFO = { name: 'test', version: '1' };
const CAPABILITIES = { tools: {}, resources: {}, prompts: {}, tasks: {} };
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
  'io.modelcontextprotocol/clientInfo': INFO,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const CARRIER: Carrier = { track: () => {}, abandon: () => {}, send: () => {}, reaches: () => false };

const message = (method: string, params: Params = {}): RequestMessage => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: { ...params, _meta: META },
});

/** What the SDK answers when a handler gives this outcome. */
async function oracle(request: RequestMessage, outcome: () => Params): Promise<unknown> {
  const handler = createMcpHandler(
    () => {
      const server = new Server(INFO, { capabilities: CAPABILITIES, supportedProtocolVersions: [MODERN_VERSION] });
      server.fallbackRequestHandler = async () => outcome();
      return server;
    },
    { legacy: 'reject' },
  );
  const { name } = request.params as { name?: string };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': MODERN_VERSION,
    'mcp-method': request.method,
    ...(name !== undefined && { 'mcp-name': name }),
  };
  const body = JSON.stringify(request);
  const response = await handler.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }));
  return response.json();
}

async function ours(request: RequestMessage, outcome: () => Params): Promise<unknown> {
  const endpoint: ModernEndpoint = {
    serverInfo: INFO,
    introduce: () => ({ capabilities: CAPABILITIES }),
    handle: async () => outcome(),
    onNotification: () => {},
  };
  const received = new ClientRequest(request, CARRIER, 'auto');
  const sent: unknown[] = [];
  const carrier = { ...CARRIER, send: (message: unknown) => sent.push(message) };
  await answer(received, carrier, () => modernResult(endpoint, received));
  return sent[0];
}

test.each<[string, string, Params]>([
  ['a result', 'tools/call', { content: [], 'x-vendor': 1 }],
  ['a complete result', 'tools/call', { content: [], resultType: 'complete' }],
  ['a task', 'tools/call', { resultType: 'task', taskId: 't' }],
  ['a question', 'prompts/get', { resultType: 'input_required', inputRequests: {} }],
  ['a question to a method without questions', 'completion/complete', { resultType: 'input_required' }],
  ['metadata', 'tools/call', { content: [], _meta: { 'a/b': 1 } }],
  ['server info in its metadata', 'tools/call', { _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'x' } } }],
  ['tools', 'tools/list', { tools: [{ name: 'a', execution: { taskSupport: 'optional' } }, { name: 'b' }, 5] }],
  ['a cache time', 'resources/list', { resources: [], ttlMs: 5, cacheScope: 'public' }],
  ['an invalid cache time', 'resources/list', { resources: [], ttlMs: -5, cacheScope: 'x' }],
  ['capabilities', 'x/unknown', { capabilities: { tasks: {}, tools: {} } }],
  ['server/discover', 'server/discover', {}],
  ['a legacy method', 'ping', {}],
  ['another legacy method', 'tasks/list', {}],
  ['initialize', 'initialize', {}],
])('S-5, D-5: the reply with %s is the same as from the SDK', async (_what, method, result) => {
  const request = message(method, method === 'tools/call' || method === 'prompts/get' ? { name: 'a' } : {});
  expect(await ours(request, () => result)).toEqual(await oracle(request, () => result));
});

test.each([
  new RpcError(-32002, 'not found', { uri: 'a:b' }),
  new RpcError(4711, 'own', [1]),
  new Error('no code'),
  Object.assign(new Error('a text as code'), { code: 'E' }),
])('B-6: the error %s is sent as by the SDK', async (error) => {
  const fail = (): Params => {
    throw error;
  };
  expect(await ours(message('x/unknown'), fail)).toEqual(await oracle(message('x/unknown'), fail));
});

test.each([-32002, 4711])('D-5: a long error with the code %i keeps its full message', async (code) => {
  const long = 'x'.repeat(10_000);
  const fail = (): Params => {
    throw RpcError.passedOn({ code, message: long });
  };
  expect(await ours(message('x/unknown'), fail)).toMatchObject({ error: { message: long } });
});

test('D-3: inputResponses and requestState are removed from the parameters', async () => {
  const calls: ModernCall[] = [];
  const endpoint: ModernEndpoint = {
    serverInfo: INFO,
    introduce: () => ({}),
    handle: async (call) => {
      calls.push(call);
      return {};
    },
    onNotification: () => {},
  };
  const answers = { a: { action: 'accept' }, b: 5, c: { method: 'x' }, d: { result: {} } };
  const params = { name: 'a', inputResponses: answers, requestState: 's' };
  await modernResult(endpoint, new ClientRequest(message('tools/call', params), CARRIER, 'auto'));
  expect(calls).toMatchObject([{ state: 's', answers: { a: { action: 'accept' } }, params: { name: 'a' } }]);
  expect(calls[0]?.params).not.toHaveProperty('inputResponses');
});

test('D-5: notifications are passed on without the client metadata', () => {
  const heard: unknown[] = [];
  const endpoint: ModernEndpoint = {
    serverInfo: INFO,
    introduce: () => ({}),
    handle: async () => ({}),
    onNotification: (method, params) => heard.push([method, params]),
  };
  modernNotification(endpoint, { jsonrpc: '2.0', method: 'x/a', params: { b: 1, _meta: META } });
  modernNotification(endpoint, { jsonrpc: '2.0', method: 'x/a', params: { _meta: { ...META, c: 1 } } });
  modernNotification(endpoint, { jsonrpc: '2.0', method: 'notifications/initialized' });
  expect(heard).toEqual([
    ['x/a', { b: 1 }],
    ['x/a', { _meta: { c: 1 } }],
  ]);
});

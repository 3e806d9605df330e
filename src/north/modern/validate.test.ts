import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { exactNumber } from '../../lib/exact-json.ts';
import { validate } from './validate.ts';

const VERSION = '2026-07-28';
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const INFO_KEY = 'io.modelcontextprotocol/clientInfo';
const LEVEL_KEY = 'io.modelcontextprotocol/logLevel';
const META = { [VERSION_KEY]: VERSION, [INFO_KEY]: { name: 'test', version: '1' }, [CAPABILITIES_KEY]: {} };

const request = (method: string, params: object = {}, meta: unknown = META): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: { ...params, _meta: meta },
});
const notification = (method: string, params?: object): object => ({
  jsonrpc: '2.0',
  method,
  ...(params && { params }),
});
const headers = (method: string, more: Record<string, string> = {}): Record<string, string> => ({
  'mcp-protocol-version': VERSION,
  'mcp-method': method,
  ...more,
});
const without = (key: string): object => Object.fromEntries(Object.entries(META).filter(([each]) => each !== key));
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

interface Answer {
  status: number;
  id?: unknown;
  code?: number;
  message?: string;
}

const served = (): Server =>
  new Server({ name: 'test', version: '1' }, { capabilities: {}, supportedProtocolVersions: [VERSION] });

/** The answer of the SDK; `undefined` if it takes the request. */
async function oracle(given: Record<string, string>, body: unknown): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const handler = createMcpHandler(
      async () => {
        resolve(undefined);
        return served();
      },
      { legacy: 'reject' },
    );
    const { method = 'POST', ...rest } = given;
    const url = new Request('http://localhost/mcp', {
      method,
      headers: { ...rest, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(body),
    });
    handler.fetch(url, { parsedBody: body }).then(async (response) => {
      const text = await response.text();
      const { id, error } = (text.startsWith('{') ? JSON.parse(text) : {}) as {
        id?: unknown;
        error?: { code: number; message: string };
      };
      resolve({ status: response.status, ...(error && { id, code: error.code, message: error.message }) });
    }, reject);
  });
}

test('M-7: a large number as a name needs no header that repeats it', () => {
  const body = request('tools/call', { name: exactNumber('9007199254740993') });
  expect(validate(headers('tools/call'), body)).toMatchObject({ kind: 'valid' });
});

const CALL = { name: 'work', arguments: {} };

test.each<[what: string, headers: Record<string, string>, body: unknown]>([
  ['a list', headers('tools/list'), request('tools/list')],
  ['a call', headers('tools/call', { 'mcp-name': 'work' }), request('tools/call', CALL)],
  [
    'a call with an encoded name',
    headers('tools/call', { 'mcp-name': encoded('wörk') }),
    request('tools/call', { name: 'wörk' }),
  ],
  ['a name that is not a string', headers('tools/call'), request('tools/call', { name: { toString: 0, valueOf: 0 } })],
  [
    'a name that is not a string, with a header',
    headers('tools/call', { 'mcp-name': 'work' }),
    request('tools/call', { name: { toString: 0, valueOf: 0 } }),
  ],
  [
    'a name that is not canonical Base64',
    headers('tools/call', { 'mcp-name': '=?base64?d29y?x?=' }),
    request('tools/call', CALL),
  ],
  ['a name that is not UTF-8', headers('tools/call', { 'mcp-name': '=?base64?/w==?=' }), request('tools/call', CALL)],
  ['a call without the name', headers('tools/call'), request('tools/call', CALL)],
  ['a call without params', headers('tools/call'), request('tools/call')],
  ['a call with another name', headers('tools/call', { 'mcp-name': 'play' }), request('tools/call', CALL)],
  ['a resource', headers('resources/read', { 'mcp-name': 'a:b' }), request('resources/read', { uri: 'a:b' })],
  ['another resource', headers('resources/read', { 'mcp-name': 'a:c' }), request('resources/read', { uri: 'a:b' })],
  ['a prompt without the name', headers('prompts/get'), request('prompts/get', { name: 'p' })],
  ['a task', headers('tasks/get', { 'mcp-name': 't' }), request('tasks/get', { taskId: 't' })],
  ['a task without the name', headers('tasks/update'), request('tasks/update', { taskId: 't' })],
  ['no headers', {}, request('tools/list')],
  ['no version header', { 'mcp-method': 'tools/list' }, request('tools/list')],
  ['no method header', { 'mcp-protocol-version': VERSION }, request('tools/list')],
  ['another method header', headers('prompts/list'), request('tools/list')],
  ['another version header', headers('tools/list', { 'mcp-protocol-version': '2025-11-25' }), request('tools/list')],
  [
    'a version that is too old',
    headers('tools/list', { 'mcp-protocol-version': '2025-11-25' }),
    request('tools/list', {}, { ...META, [VERSION_KEY]: '2025-11-25' }),
  ],
  [
    'a version that is too new',
    headers('tools/list', { 'mcp-protocol-version': '2099-01-01' }),
    request('tools/list', {}, { ...META, [VERSION_KEY]: '2099-01-01' }),
  ],
  ['a version that is a number', headers('tools/list'), request('tools/list', {}, { ...META, [VERSION_KEY]: 5 })],
  ['no version in the body', headers('tools/list'), request('tools/list', {}, without(VERSION_KEY))],
  ['no version at all', { 'mcp-method': 'tools/list' }, request('tools/list', {}, without(VERSION_KEY))],
  ['no capabilities', headers('tools/list'), request('tools/list', {}, without(CAPABILITIES_KEY))],
  [
    'capabilities that are a list',
    headers('tools/list'),
    request('tools/list', {}, { ...META, [CAPABILITIES_KEY]: [] }),
  ],
  [
    'a capability that is a flag',
    headers('tools/list'),
    request('tools/list', {}, { ...META, [CAPABILITIES_KEY]: { elicitation: true } }),
  ],
  [
    'an unknown capability',
    headers('tools/list'),
    request('tools/list', {}, { ...META, [CAPABILITIES_KEY]: { vendor: 1 } }),
  ],
  ['no client', headers('tools/list'), request('tools/list', {}, without(INFO_KEY))],
  [
    'a client without a version',
    headers('tools/list'),
    request('tools/list', {}, { ...META, [INFO_KEY]: { name: 'x' } }),
  ],
  ['a client that is a string', headers('tools/list'), request('tools/list', {}, { ...META, [INFO_KEY]: 'x' })],
  ['a log level', headers('tools/list'), request('tools/list', {}, { ...META, [LEVEL_KEY]: 'debug' })],
  ['an unknown log level', headers('tools/list'), request('tools/list', {}, { ...META, [LEVEL_KEY]: 'loud' })],
  ['a wrong progress token', headers('tools/list'), request('tools/list', {}, { ...META, progressToken: {} })],
  ['no metadata', headers('tools/list'), { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
  ['metadata that is a string', headers('tools/list'), request('tools/list', {}, 'x')],
  [
    'no metadata and a legacy version',
    { 'mcp-method': 'tools/list', 'mcp-protocol-version': '2025-11-25' },
    { jsonrpc: '2.0', id: 'a', method: 'tools/list' },
  ],
  ['initialize', headers('initialize'), request('initialize')],
  ['a legacy initialize', headers('initialize'), request('initialize', {}, without(CAPABILITIES_KEY))],
  [
    'a legacy initialize without headers',
    {},
    request('initialize', { protocolVersion: '2025-11-25' }, without(CAPABILITIES_KEY)),
  ],
  ['a notification', headers('notifications/x'), notification('notifications/x')],
  ['a notification with metadata', {}, notification('notifications/x', { _meta: META })],
  ['a notification with another method', headers('notifications/y'), notification('notifications/x')],
  [
    'a notification with metadata and another method',
    headers('notifications/y'),
    notification('notifications/x', { _meta: META }),
  ],
  [
    'a notification of another version',
    headers('notifications/x', { 'mcp-protocol-version': '2099-01-01' }),
    notification('notifications/x', { _meta: META }),
  ],
  [
    'a notification with an unknown version',
    headers('notifications/x', { 'mcp-protocol-version': '2099-01-01' }),
    notification('notifications/x'),
  ],
  [
    'a notification with a version that is a number',
    headers('notifications/x'),
    notification('notifications/x', { _meta: { [VERSION_KEY]: 5 } }),
  ],
  ['a legacy notification', { 'mcp-method': 'notifications/x' }, notification('notifications/x')],
  ['a batch', headers('tools/list'), [request('tools/list')]],
  ['a legacy batch', { 'mcp-method': 'x' }, [{ jsonrpc: '2.0', id: 1, method: 'x' }]],
  ['an empty batch', headers('tools/list'), []],
  ['a response', headers('tools/list'), { jsonrpc: '2.0', id: 1, result: {} }],
  ['an error response', headers('tools/list'), { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } }],
  ['another field', headers('tools/list'), { ...request('tools/list'), extra: 1 }],
  ['another version of JSON-RPC', headers('tools/list'), { ...request('tools/list'), jsonrpc: '1.0' }],
  ['an id that is a list', headers('tools/list'), { ...request('tools/list'), id: [] }],
  ['an id that is a fraction', headers('tools/list'), { ...request('tools/list'), id: 1.5 }],
  ['a string', headers('tools/list'), 'text'],
  ['null', headers('tools/list'), null],
])('L-3, X-4: %s gets the same response as from the SDK', async (_what, given, body) => {
  const verdict = validate(given, body);
  const answer: Answer | undefined =
    verdict.kind === 'valid'
      ? undefined
      : verdict.kind === 'ignored'
        ? { status: 202 }
        : {
            status: 400,
            id: verdict.rejection.id,
            code: verdict.rejection.error.code,
            message: verdict.rejection.error.message,
          };
  const expected = await oracle(given, body);
  // Requests also get the words of the SDK.
  const isRequest = typeof body === 'object' && body !== null && 'id' in body;
  if (answer === undefined || isRequest) expect(answer).toEqual(expected);
  else expect({ ...answer, message: '' }).toEqual({ ...expected, message: '' });
});

import { isInitializeRequest } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { exactNumber } from '../lib/exact-json.ts';
import { CLIENT_CAPABILITIES_KEY, VERSION_KEY } from '../lib/protocol.ts';
import { initializeMistake, isInitialize, metaMistake } from './client-info.ts';

const INFO = { name: 'client', version: '1' };
const initialize = (params: unknown) => ({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
const CAPABILITIES = [
  {},
  { unknown: 5, 'x-vendor': {} },
  { elicitation: {} },
  { elicitation: { form: {}, url: {} } },
  { elicitation: { form: { applyDefaults: true } } },
  { elicitation: { form: { applyDefaults: 1 } } },
  { elicitation: { url: 1 } },
  { elicitation: true },
  { elicitation: [] },
  { sampling: {} },
  { sampling: { tools: {}, context: {} } },
  { sampling: { tools: 1 } },
  { sampling: 'yes' },
  { roots: { listChanged: true } },
  { roots: { listChanged: 'yes' } },
  { roots: null },
  { extensions: { 'a/b': {} } },
  { extensions: { 'a/b': 1 } },
  { extensions: [] },
  { experimental: { a: {} } },
  { experimental: { a: [] } },
];

test.each([
  ...CAPABILITIES.map((capabilities) => ({ protocolVersion: '2025-11-25', capabilities, clientInfo: INFO })),
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { ...INFO, title: 'T', extra: 1 } },
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { ...INFO, title: 1 } },
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'client' } },
  { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: 'client' },
  { protocolVersion: '2025-11-25', capabilities: {} },
  { protocolVersion: '2025-11-25', clientInfo: INFO },
  { protocolVersion: 5, capabilities: {}, clientInfo: INFO },
  { capabilities: {}, clientInfo: INFO },
  {},
  [],
  undefined,
])('H-1, X-4: initialize with %j begins a session if the SDK accepts it', (params) => {
  expect(isInitialize(initialize(params))).toBe(isInitializeRequest(initialize(params)));
});

test.each(['protocolVersion', 'clientInfo.name', 'clientInfo.title'])(
  'M-7: a large number is not valid as %s',
  (field) => {
    const big = exactNumber('9007199254740993');
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { ...INFO } };
    const [first = '', second] = field.split('.');
    const wrong =
      second === undefined ? { ...params, [first]: big } : { ...params, clientInfo: { ...INFO, [second]: big } };
    const mistake = { key: field, problem: 'Invalid input: expected string, received number' };
    expect(initializeMistake(wrong)).toEqual(mistake);
    expect(isInitialize(initialize(wrong))).toBe(false);
  },
);

test('M-7: a large number is not valid as the protocol version of a request', () => {
  const meta = { [VERSION_KEY]: exactNumber('9007199254740993'), [CLIENT_CAPABILITIES_KEY]: {} };
  expect(metaMistake(meta)).toMatchObject({ key: VERSION_KEY });
});

test.each([[undefined], [null], [{}]])('H-1, X-4: initialize with the ID %j begins no session', (id) => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO };
  expect(isInitialize({ ...initialize(params), id })).toBe(false);
});

test('X-4: a request other than initialize begins no session', () => {
  expect(isInitialize({ ...initialize({}), method: 'ping' })).toBe(false);
  expect(isInitialize(undefined)).toBe(false);
});

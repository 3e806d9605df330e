import { Server } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { RequestValidator } from './request-validator.ts';

const VERSION = '2026-07-28';
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const request = (method: string): Record<string, unknown> => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
});
const headers = (method: string): Record<string, string> => ({
  ...HEADERS,
  'mcp-protocol-version': VERSION,
  'mcp-method': method,
});

test('L-3: a valid request has no response yet, and an invalid one has that of the SDK', async () => {
  const validator = new RequestValidator(() => {});
  expect(await validator.answerTo({ headers: headers('tools/list') }, request('tools/list'))).toBeUndefined();
  const mismatch = await validator.answerTo({ headers: headers('prompts/list') }, request('tools/list'));
  expect(mismatch?.status).toBe(400);
  expect(await mismatch?.json()).toMatchObject({ id: 1, error: { code: -32020 } });
  const old = await validator.answerTo({ headers: HEADERS }, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  expect(old?.status).toBe(400);
  await validator.close();
});

test('L-3: a server that is given responds to a valid request', async () => {
  const validator = new RequestValidator(() => {});
  const server = new Server(
    { name: 'given', version: '1' },
    { capabilities: {}, supportedProtocolVersions: [VERSION] },
  );
  const response = await validator.answerTo(
    { headers: headers('server/discover') },
    request('server/discover'),
    server,
  );
  expect(response?.status).toBe(200);
  await response?.body?.cancel();
  await validator.close();
});

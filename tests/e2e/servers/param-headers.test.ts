import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { listen, readJson } from '../../servers/shared/http-host.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { connectTo } from '../native/connected.ts';

/** A server that checks, as the SDK does, that some arguments of its tool come as headers too. */
async function choosy(): Promise<{ url: string; calls: (string | undefined)[][] }> {
  const calls: (string | undefined)[][] = [];
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'choosy', version: '1.0.0' });
      const inputSchema = z.object({
        region: z.string().meta({ 'x-mcp-header': 'Region' }),
        limits: z.object({ rows: z.int().meta({ 'x-mcp-header': 'Rows' }) }).optional(),
      });
      server.registerTool('query', { inputSchema }, ({ region }) => ({ content: [{ type: 'text', text: region }] }));
      return server;
    },
    { legacy: 'reject' },
  );
  const handle = toNodeHandler(handler);
  const host = await listen({
    port: undefined,
    onerror: (error) => expect(error).toBeUndefined(),
    async handle(request, response) {
      if (request.headers['mcp-method'] === 'tools/call') {
        calls.push([request.headers['mcp-param-region'], request.headers['mcp-param-rows']] as (string | undefined)[]);
      }
      await handle(request as NodeIncomingMessageLike, response);
    },
  });
  owned({
    close: async () => {
      await handler.close();
      await host.close();
    },
  });
  return { url: `http://127.0.0.1:${host.port}/mcp`, calls };
}

/** A server with tasks that refuses every call for its headers. `list` answers the last request for its tools. */
async function refusing() {
  const seen: string[] = [];
  const waiting: (() => void)[] = [];
  const tool = {
    name: 'query',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
  };
  const host = await listen({
    port: undefined,
    onerror: (error) => expect(error).toBeUndefined(),
    async handle(request, response) {
      const { id, method } = (await readJson(request)) as { id: number; method: string };
      const region = request.headers['mcp-param-region'];
      seen.push(typeof region === 'string' ? `${method} ${region}` : method);
      const reply = (status: number, content: object): void => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...content }));
      };
      const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
      switch (method) {
        case 'server/discover':
          reply(200, { result: { ...complete, supportedVersions: ['2026-07-28'], capabilities: WITH_TASKS } });
          break;
        case 'tools/list':
          waiting.push(() => reply(200, { result: { ...complete, tools: [tool] } }));
          break;
        default:
          reply(400, { error: { code: -32020, message: 'a header is missing' } });
      }
    },
  });
  owned(host);
  const asked = async (): Promise<void> => expect.poll(() => waiting.length).toBe(1);
  return { config: { url: `http://127.0.0.1:${host.port}/mcp` }, seen, asked, list: () => waiting.pop()?.() };
}

const WITH_TASKS = { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const QUERY = { tool: 'query', args: { region: 'Bern' } };

const query = { server: 'one', tool: 'query', args: { region: 'Zürich', limits: { rows: 5 } } };
const HEADERS = ['=?base64?WsO8cmljaA==?=', '5'];

test('B-1: arguments that a tool maps to headers are sent as headers once the tools are known', async () => {
  const server = await choosy();
  const hub = await hubOverHttp((await httpGateway({ one: { url: server.url } })).url);
  await hub.call('list_tools', { server: 'one' });
  expect((await hub.call('execute_tool', query)).text).toBe('Zürich');
  expect(server.calls).toEqual([HEADERS]);
});

test('B-1: a call that was refused for missing headers is sent again with them', async () => {
  const server = await choosy();
  const hub = await hubOverHttp((await httpGateway({ one: { url: server.url } })).url);
  expect((await hub.call('execute_tool', query)).text).toBe('Zürich');
  expect(server.calls).toEqual([[undefined, undefined], HEADERS]);
  expect((await hub.call('execute_tool', { ...query, args: { region: 'Bern' } })).text).toBe('Bern');
  expect(server.calls.at(-1)).toEqual(['Bern', undefined]);
});

test('B-1: a call that is refused for its headers twice is not sent again', async () => {
  const { config, seen, asked, list } = await refusing();
  const outcome = connectTo(config).call('a', QUERY);
  await asked();
  list();
  expect(await outcome).toMatchObject({ kind: 'error', error: { code: -32020 } });
  expect(seen.filter((method) => method.startsWith('tools/'))).toEqual(['tools/call', 'tools/list', 'tools/call Bern']);
});

test('H-6: a call that is cancelled while its headers are looked up is not sent', async () => {
  const { config, seen, asked, list } = await refusing();
  const stop = new AbortController();
  const outcome = connectTo(config).call('a', { ...QUERY, signal: stop.signal });
  await asked();
  stop.abort(new Error('enough'));
  list();
  expect(await outcome).toMatchObject({ kind: 'error', error: { message: 'cancelled' } });
  expect(seen.filter((method) => method.startsWith('tools/call'))).toEqual(['tools/call']);
});

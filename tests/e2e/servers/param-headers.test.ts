import { toNodeHandler, type NodeIncomingMessageLike } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { listen } from '../../servers/shared/http-host.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

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

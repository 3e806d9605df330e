import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { richResult } from '../../servers/shared/rich.ts';
import { startV1Http } from '../../servers/v1-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, hubOfProgram, type ClientKind, type Json } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

const KINDS: ClientKind[] = ['v1', 'v2', 'modern'];

/** A client of the server itself, without a gateway. */
async function alone(url: string): Promise<(method: string, params: Json) => Promise<Json>> {
  const client = owned(new Client({ name: 'alone', version: '1.0.0' }));
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return (method, params) => client.request({ method, params }, ResultSchema);
}

/** A modern result says that it is complete; that is the wire's word, not the server's. */
function withoutWireWords({ resultType: _resultType, ...result }: Json): Json {
  return result;
}

/** The SDK adds who it is to each result of the new era. */
function withoutServerInfo(result: Json): Json {
  const { 'io.modelcontextprotocol/serverInfo': _info, ...meta } = (result['_meta'] ?? {}) as Json;
  const { _meta, ...rest } = result;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

test.each(KINDS)('H-3: a result is the same as the server sent it, with unknown keys (%s)', async (kind) => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url, kind);
  await hub.call('list_tools');
  const ask = await alone(server.url);
  for (const tool of ['rich', 'fail']) {
    const { raw } = await hub.call('execute_tool', { server: 'one', tool });
    const direct = await ask('tools/call', { name: tool, arguments: {} });
    expect(withoutServerInfo(withoutWireWords(raw))).toEqual(direct);
  }
  expect(await ask('tools/call', { name: 'rich', arguments: {} })).toEqual(richResult());
});

test('H-3: a result is the same as the server sent it over stdio', async () => {
  const server = owned(await startV1Http());
  const hub = await hubOfProgram({ one: { url: server.url } });
  await hub.call('list_tools');
  const { raw } = await hub.call('execute_tool', { server: 'one', tool: 'rich' });
  expect(raw).toEqual(richResult());
  const failed = await hub.call('execute_tool', { server: 'one', tool: 'fail' });
  expect(failed.raw).toEqual({ content: [{ type: 'text', text: 'disk on fire' }], isError: true });
});

test('H-3: a result of a modern server is the same as the server sent it', async () => {
  const server = owned(await startV2Http({ era: 'modern' }));
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await hub.call('list_tools');
  const { raw } = await hub.call('execute_tool', { server: 'one', tool: 'rich' });
  // Its SDK itself drops keys of content blocks that it does not know.
  const [{ vendorKey: _dropped, ...text } = {}, ...others] = richResult().content as Json[];
  expect(withoutServerInfo(withoutWireWords(raw))).toEqual({ ...richResult(), content: [text, ...others] });
});

test('H-8: read_resource keeps blobs, texts, types and metadata', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  await hub.call('list_tools');
  const ask = await alone(server.url);
  for (const uri of ['test://blob', 'test://text', 'test://json', 'test://meta', 'test://item/7']) {
    const { raw } = await hub.call('read_resource', { server: 'one', uri });
    const { contents } = await ask('resources/read', { uri });
    expect(raw.content).toEqual((contents as Json[]).map((resource) => ({ type: 'resource', resource })));
  }
  const { raw } = await hub.call('read_resource', { server: 'one', uri: 'test://blob' });
  expect(raw.content).toEqual([
    {
      type: 'resource',
      resource: { uri: 'test://blob', mimeType: 'application/octet-stream', blob: 'AAEC/w==' },
    },
  ]);
});

test('H-8: get_prompt returns the prompt with its arguments filled in', async () => {
  const server = owned(await startV1Http());
  const { url } = await httpGateway({ one: { url: server.url } });
  const hub = await hubOverHttp(url);
  const { body } = await hub.call('get_prompt', { server: 'one', name: 'greet', arguments: { who: 'Ada' } });
  const ask = await alone(server.url);
  expect(body).toEqual(await ask('prompts/get', { name: 'greet', arguments: { who: 'Ada' } }));
});

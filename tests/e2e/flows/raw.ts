/** Clients that do what no SDK lets them do: leave in the middle of a request, or come back to a session. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { takeApart, type Json, type Reply } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const VERSION = '2025-06-18';

/** Opens a session with two plain requests and returns its id. */
export async function openRawSession(url: string): Promise<string> {
  const initialize = {
    jsonrpc: '2.0',
    id: 'init',
    method: 'initialize',
    params: { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  };
  const response = await fetch(url, { method: 'POST', headers: HEADERS, body: JSON.stringify(initialize) });
  await response.text();
  const id = response.headers.get('mcp-session-id');
  if (id === null) throw new Error('no session id');
  await (await rawPost(url, id, { jsonrpc: '2.0', method: 'notifications/initialized' })).text();
  return id;
}

export async function rawPost(url: string, sessionId: string, message: Json, signal?: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, 'mcp-session-id': sessionId, 'mcp-protocol-version': VERSION },
    body: JSON.stringify(message),
    ...(signal && { signal }),
  });
}

export function toolCall(id: string, name: string, args: Json = {}): Json {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
}

export interface Returned {
  call(tool: string, args?: Json): Promise<Reply>;
  close(): Promise<void>;
}

/** A new connection that knows the id of a session. */
export async function returnTo(url: string, sessionId: string): Promise<Returned> {
  const client = owned(new Client({ name: 'returned', version: '1' }));
  const transport = new StreamableHTTPClientTransport(new URL(url), { sessionId });
  await client.connect(transport);
  return {
    call: async (name, args = {}) =>
      takeApart(await client.request({ method: 'tools/call', params: { name, arguments: args } }, ResultSchema)),
    close: () => client.close(),
  };
}

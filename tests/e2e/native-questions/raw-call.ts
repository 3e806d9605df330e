/** A client by hand that can be asked, and the stream of one of its calls. */
import type { Json } from '../../support/hub.ts';
import { INITIALIZE, openStream, post } from '../../support/raw-http.ts';
import { BOTH_KINDS } from './clients.ts';

export interface RawCall {
  session: string;
  /** What came on the stream so far. */
  messages: () => Json[];
  /** Resolves when the gateway has ended the stream. */
  ended: Promise<void>;
  /** Sends something in the same session. */
  send: (message: Json) => Promise<void>;
  /** Breaks the connection. */
  destroy: () => void;
}

/** Calls `execute_tool`, in that session or in one of its own. */
export async function rawCall(url: string, args: Json, given?: string): Promise<RawCall> {
  const session = given ?? (await openSession(url));
  const call = { jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'execute_tool', arguments: args } };
  const stream = await openStream(url, { method: 'POST', headers: headersIn(session), body: JSON.stringify(call) });
  return {
    session,
    messages: () => stream.events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data) as Json),
    ended: stream.ended,
    send: async (message) => void (await post(url, message, headersIn(session))),
    destroy: () => stream.destroy(),
  };
}

async function openSession(url: string): Promise<string> {
  const opened = await post(url, { ...INITIALIZE, params: { ...INITIALIZE.params, capabilities: BOTH_KINDS } });
  const session = String(opened.headers['mcp-session-id']);
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headersIn(session));
  return session;
}

function headersIn(session: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': session,
    'mcp-protocol-version': '2025-11-25',
  };
}

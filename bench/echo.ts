/** What the servers of the benchmark answer, over HTTP and over stdio. */

export interface Message {
  id?: number | string;
  method: string;
  params?: { name?: string; arguments?: { text?: string } };
}

const INFO = { name: 'bench', version: '1.0.0' };
const ECHO = {
  name: 'echo',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};
const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: INFO };
const CACHE = { ttlMs: 60_000, cacheScope: 'private' };

/** The response to a request, as text. */
export function respond(message: Message, modern: boolean): string {
  const result = resultOf(message, modern);
  const rest = result ? { result } : { error: { code: -32601, message: `Method not found: ${message.method}` } };
  return JSON.stringify({ jsonrpc: '2.0', id: message.id, ...rest });
}

function resultOf({ method, params }: Message, modern: boolean): object | undefined {
  const complete = modern ? { resultType: 'complete' } : {};
  switch (method) {
    case 'initialize':
      return modern ? undefined : { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: INFO };
    case 'server/discover':
      return modern ? { ...complete, ...DISCOVERED, ...CACHE } : undefined;
    case 'ping':
      return {};
    case 'tools/list':
      return { ...complete, tools: [ECHO], ...(modern && CACHE) };
    case 'tools/call':
      return { ...complete, content: [{ type: 'text', text: params?.arguments?.text ?? '' }] };
    default:
      return undefined;
  }
}

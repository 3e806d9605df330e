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

/** In the results of the tools `large` and `huge`, after one and ten megabytes of text. */
export const LARGE_END = 'the end of a large result';
const LINE = 'A line of "text", as a tool that reads a file returns it.\n';
const contentOf = (bytes: number): string =>
  JSON.stringify([{ type: 'text', text: LINE.repeat(bytes / LINE.length) + LARGE_END }]);
const LARGE: ReadonlyMap<string, string> = new Map([
  ['large', contentOf(1e6)],
  ['huge', contentOf(1e7)],
]);

/** The response to a request, as text. */
export function respond(message: Message, modern: boolean): string {
  const large = LARGE.get(message.params?.name ?? '');
  if (large !== undefined) return respondLarge(message, modern, large);
  const result = resultOf(message, modern);
  const rest = result ? { result } : { error: { code: -32601, message: `Method not found: ${message.method}` } };
  return JSON.stringify({ jsonrpc: '2.0', id: message.id, ...rest });
}

function respondLarge({ id }: Message, modern: boolean, content: string): string {
  const kind = modern ? '"resultType":"complete",' : '';
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${kind}"content":${content}}}`;
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

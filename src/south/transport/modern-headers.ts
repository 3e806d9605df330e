import { PROTOCOL_VERSION_META_KEY, type JSONRPCMessage } from '@modelcontextprotocol/client';

/** The parameter that the `Mcp-Name` header repeats, by method. */
const NAMED_BY: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Headers that repeat what the body of an enveloped request says. Requests without an envelope get none. */
export function modernHeaders(message: JSONRPCMessage): Record<string, string> {
  if (!('method' in message) || !('id' in message)) return {};
  const version = message.params?._meta?.[PROTOCOL_VERSION_META_KEY];
  if (typeof version !== 'string') return {};
  const field = NAMED_BY[message.method];
  const name = field === undefined ? undefined : message.params?.[field];
  return {
    'mcp-protocol-version': version,
    'mcp-method': message.method,
    ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
  };
}

/** Anything but plain visible ASCII goes as base64, in the form the specification gives it. */
export function headerValue(value: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?');
  return plain ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

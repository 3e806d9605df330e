import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { VERSION_KEY } from '../../lib/protocol.ts';
import { isRequest } from './message.ts';

/** The parameter that the `Mcp-Name` header repeats, by method. */
const NAMED_BY: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Headers that repeat fields of the body of a request with an envelope; `undefined` for other messages. */
export function modernHeaders(message: JSONRPCMessage): Record<string, string> | undefined {
  if (!isRequest(message)) return undefined;
  const version = message.params?._meta?.[VERSION_KEY];
  if (typeof version !== 'string') return undefined;
  const field = NAMED_BY[message.method];
  const name = field === undefined ? undefined : message.params?.[field];
  return {
    'mcp-protocol-version': version,
    'mcp-method': message.method,
    ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
  };
}

/** Anything but visible ASCII is encoded in base64, as the specification says. */
export function headerValue(value: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?');
  return plain ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

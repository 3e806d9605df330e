import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isDeeperThan, MAX_LEVELS, MIN_DEEP_LENGTH } from '../../lib/depth.ts';
import { messageOf } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import { parseExact } from '../../lib/exact-json.ts';

/**
 * A message of a server; `undefined` if it is not a message. An invalid response becomes an error, so that its request ends;
 * parameters that are not an object count as absent. `length`: that of its text.
 */
export function readMessage(value: unknown, length = Infinity): JSONRPCMessage | undefined {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return undefined;
  const tooDeep = length > MIN_DEEP_LENGTH && isDeeperThan(value, MAX_LEVELS);
  if ('method' in value) {
    if (typeof value['method'] !== 'string') return undefined;
    // A request without its parameters is answered with an error; a notification is dropped.
    if (tooDeep) return 'id' in value ? ({ ...value, params: {} } as JSONRPCMessage) : undefined;
    if (!('params' in value) || isObject(value['params'])) return value as JSONRPCMessage;
    const { params: _params, ...rest } = value;
    return rest as JSONRPCMessage;
  }
  const { id, result, error } = value;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  if (tooDeep) return broken(id, `nested more than ${MAX_LEVELS} levels deep`);
  if (error !== undefined) {
    const whole = isObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string';
    return whole ? (value as JSONRPCMessage) : broken(id, 'an error without code and message');
  }
  if (!isObject(result)) return broken(id, 'not an object, as every result must be');
  return value as JSONRPCMessage;
}

/** Reads a message from its text; `onError` gets the reason if the text is not a message. */
export function parseMessage(text: string, onError: (error: Error) => void): JSONRPCMessage | undefined {
  try {
    const message = readMessage(parseExact(text), text.length);
    if (message === undefined) onError(new Error('not a JSON-RPC message on the stream'));
    return message;
  } catch (error) {
    onError(new Error(`not JSON on the stream: ${messageOf(error)}`));
    return undefined;
  }
}

function broken(id: string | number, what: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: -32603, message: `the server's answer is ${what}` } };
}

import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/client';
import { isDeeperThan, MAX_LEVELS, MIN_DEEP_LENGTH } from '../../lib/depth.ts';
import { messageOf } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import { parseExact } from '../../lib/exact-json.ts';
import { isLarge, parseInTurns } from '../../lib/json-in-turns.ts';
import type { MessageLimit } from './message-size.ts';

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

export function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}

export interface MessageReader {
  onMessage(message: JSONRPCMessage): void;
  /** The text is not a message. */
  onMistake(mistake: string, text: string): void;
}

/**
 * Reads a message from its text; a large one over several turns of the event loop, until the promise resolves. `source`: as in
 * `parseInTurns`.
 */
export function parseMessage(text: string, source: MessageLimit, reader: MessageReader): Promise<void> | undefined {
  const onInvalid = (error: unknown): void => reader.onMistake(`not JSON: ${messageOf(error)}`, text);
  if (isLarge(text)) return parseInTurns(text, source).then((value) => received(value, text, reader), onInvalid);
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    onInvalid(error);
    return undefined;
  }
  received(value, text, reader);
  return undefined;
}

function received(value: unknown, text: string, reader: MessageReader): void {
  const message = readMessage(value, text.length);
  if (message === undefined) reader.onMistake('not a JSON-RPC message', text);
  else reader.onMessage(message);
}

function broken(id: string | number, what: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: -32603, message: `the server's answer is ${what}` } };
}

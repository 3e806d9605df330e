import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isDeeperThan, MAX_LEVELS } from '../../lib/depth.ts';
import { isObject } from '../../lib/values.ts';

/**
 * A task in place of a result. The SDK's client knows no such result and would drop it with an error, so it is handed over
 * as a complete one that carries the task under a key of ours.
 */
const TASK_KEY = 'meanwhile/task';

/**
 * What a server sent, as the client can take it; `undefined` if it is no message. An answer that is none in the sense of
 * the protocol becomes an error: dropped, as the client would, it would be waited for without end.
 */
export function readMessage(value: unknown): JSONRPCMessage | undefined {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return undefined;
  const tooDeep = isDeeperThan(value, MAX_LEVELS);
  if ('method' in value) {
    if (typeof value['method'] !== 'string') return undefined;
    if (!tooDeep) return value as JSONRPCMessage;
    // A question without its parameters is answered with an error; of a notification nothing is left.
    return 'id' in value ? ({ ...value, params: {} } as JSONRPCMessage) : undefined;
  }
  const { id, result, error } = value;
  if (typeof id !== 'string' && typeof id !== 'number') return undefined;
  if (tooDeep) return broken(id, `nested more than ${MAX_LEVELS} levels deep`);
  if (error !== undefined) {
    const whole = isObject(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string';
    return whole ? (value as JSONRPCMessage) : broken(id, 'an error without code and message');
  }
  if (!isObject(result)) return broken(id, 'no object, as every result must be');
  const { resultType } = result;
  if (resultType === 'task') return wrapTask(id, result);
  // The SDK refuses one that does not say its type; the specification wants it taken as complete.
  return resultType === undefined
    ? { jsonrpc: '2.0', id, result: { ...result, resultType: 'complete' } }
    : (value as JSONRPCMessage);
}

/** The task in the result of a call. */
export function nativeTask(result: Record<string, unknown>): unknown {
  return result[TASK_KEY];
}

function wrapTask(
  id: string | number,
  { resultType: _resultType, _meta, ...task }: Record<string, unknown>,
): JSONRPCMessage {
  const meta = isObject(_meta) ? { _meta } : {};
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [], ...meta, [TASK_KEY]: task } };
}

function broken(id: string | number, what: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: -32603, message: `the server's answer is ${what}` } };
}

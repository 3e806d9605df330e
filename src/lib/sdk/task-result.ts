import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isObject } from '../values.ts';

type Result = Record<string, unknown>;

/**
 * A task in place of a result. The SDK's client rejects the result type `task`, so the task travels through it in a
 * complete result, under this key.
 */
const TASK_KEY = 'meanwhile/task';

/** A response in a form that the SDK's client accepts in both eras. */
export function acceptableResponse(message: JSONRPCMessage, id: string | number, result: Result): JSONRPCMessage {
  if (result['resultType'] === 'task') return wrapTask(id, result);
  // The SDK rejects a modern result without a type; the specification says to take it as complete.
  return result['resultType'] === undefined
    ? { jsonrpc: '2.0', id, result: { ...result, resultType: 'complete' } }
    : message;
}

/** The task in the result of a call. */
export function nativeTask(result: Result): unknown {
  return result[TASK_KEY];
}

function wrapTask(id: string | number, { resultType: _resultType, _meta, ...task }: Result): JSONRPCMessage {
  const meta = isObject(_meta) ? { _meta } : {};
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [], ...meta, [TASK_KEY]: task } };
}

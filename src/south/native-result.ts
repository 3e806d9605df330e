import type { JSONRPCMessage } from '@modelcontextprotocol/client';

/**
 * A task in place of a result. The SDK's client knows no such result and would drop it with an error, so it is handed over
 * as a complete one that carries the task under a key of ours.
 */
const TASK_KEY = 'meanwhile/task';

/** To be applied to every message before the client sees it. */
export function wrapNativeTask(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message) || message.result['resultType'] !== 'task') return message;
  const { resultType: _resultType, _meta, ...task } = message.result;
  return {
    ...message,
    result: { resultType: 'complete', content: [], ...(_meta !== undefined && { _meta }), [TASK_KEY]: task },
  };
}

/** The task in such a result. */
export function nativeTask(result: Record<string, unknown>): unknown {
  return result[TASK_KEY];
}

/**
 * The requests that the SDK's client would not send, or whose answers it would not take, on its own transport: the client
 * of the extension leaves this to its host.
 */
import type { JSONRPCMessage, JSONRPCRequest, Transport } from '@modelcontextprotocol/client';
import type { JsonRpcResponse, RawClientDispatch } from '@modelcontextprotocol/ext-tasks/client';

interface Waiting {
  resolve: (response: JsonRpcResponse) => void;
  reject: (error: Error) => void;
}

/** For a transport that its client is connected with. */
export function rawDispatch(transport: Transport): RawClientDispatch {
  const waiting = new Map<string, Waiting>();
  const deliver = transport.onmessage;
  transport.onmessage = (message: JSONRPCMessage) => {
    const answered = 'method' in message ? undefined : waiting.get(String(message.id));
    if (answered === undefined) return deliver?.(message);
    answered.resolve(asResponse(message));
  };
  const closed = transport.onclose;
  transport.onclose = () => {
    for (const { reject } of waiting.values()) reject(new Error('the connection was closed'));
    closed?.();
  };
  let sent = 0;
  return async (request, { signal, context } = {}) => {
    signal?.throwIfAborted();
    sent += 1;
    // The client itself counts with numbers.
    const id = `raw-${sent}`;
    const gone = new AbortController();
    const abort = (): void => {
      gone.abort();
      waiting.get(id)?.reject(new Error('aborted'));
    };
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await new Promise<JsonRpcResponse>((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        const message = { jsonrpc: '2.0', ...(request as object), id } as JSONRPCRequest;
        const headers = context?.headers;
        transport.send(message, { requestSignal: gone.signal, ...(headers && { headers }) }).catch(reject);
      });
    } finally {
      waiting.delete(id);
      signal?.removeEventListener('abort', abort);
    }
  };
}

function asResponse(message: JSONRPCMessage): JsonRpcResponse {
  return ('error' in message
    ? { kind: 'error', error: message.error }
    : { kind: 'result', result: 'result' in message ? message.result : {} }) as unknown as JsonRpcResponse;
}

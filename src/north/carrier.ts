import type { JSONRPCMessage, RequestId, ServerContext } from '@modelcontextprotocol/server';
import { isConnectionClosed } from '../lib/sdk/connection-closed.ts';
import type { OnCancel } from './cancel-reasons.ts';
import { Exchange } from './exchange.ts';

/** What carries replies to a client, and therefore knows whether they arrive. */
export interface Carrier {
  /** From now on `exchange` hears what becomes of the reply to this request. */
  track(id: RequestId, exchange: Exchange): void;
  /** There will be no reply: the request was cancelled. */
  abandon(id: RequestId): void;
}

/** The reply as it leaves: the SDK gives some errors another code than they came with. */
export function exactReply(message: JSONRPCMessage, exchange: Exchange | undefined): JSONRPCMessage {
  return exchange?.failure !== undefined && 'error' in message ? { ...message, error: exchange.failure } : message;
}

/** The exchange that belongs to a request, from the moment its handler begins. */
export function openExchange(mcpReq: ServerContext['mcpReq'], carrier: Carrier, onCancel: OnCancel): Exchange {
  const token = mcpReq._meta?.progressToken;
  const exchange = new Exchange(
    token === undefined
      ? undefined
      : (progress) => {
          // A client that is gone hears nothing; that its request failed is found out by whoever sends the reply.
          mcpReq
            .notify({ method: 'notifications/progress', params: { ...progress, progressToken: token } })
            .catch(() => {});
        },
    onCancel,
  );
  carrier.track(mcpReq.id, exchange);
  const onAbort = (): void => {
    // The end of the connection is the carrier's to judge: it may come right after the reply has left.
    if (isConnectionClosed(mcpReq.signal.reason)) return;
    exchange.cancel(mcpReq.signal.reason);
    carrier.abandon(mcpReq.id);
  };
  mcpReq.signal.addEventListener('abort', onAbort, { once: true });
  return exchange;
}

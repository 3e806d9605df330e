import type { JSONRPCMessage, RequestId, ServerContext } from '@modelcontextprotocol/server';
import { GatewayError } from '../core/errors.ts';
import type { Session } from '../core/session/session.ts';
import { isDeeperThan, MAX_LEVELS } from '../lib/depth.ts';
import { isConnectionClosed } from '../lib/sdk/connection-closed.ts';
import type { OnCancel } from './cancel-reasons.ts';
import { Exchange } from './exchange.ts';

/** Carries replies to a client, and therefore knows whether they arrive. */
export interface Carrier {
  /** Tells `exchange` from now on what happens to the reply to this request. */
  track(id: RequestId, exchange: Exchange): void;
  /** There will be no reply: the request was cancelled. */
  abandon(id: RequestId): void;
}

/** The reply as it leaves: the SDK gives some errors another code than they came with. */
export function exactReply(message: JSONRPCMessage, exchange: Exchange | undefined): JSONRPCMessage {
  return exchange?.failure !== undefined && 'error' in message ? { ...message, error: exchange.failure } : message;
}

/** The exchange of a request, from the moment its handler begins. */
export function openExchange(mcpReq: ServerContext['mcpReq'], carrier: Carrier, onCancel: OnCancel): Exchange {
  const token = mcpReq._meta?.progressToken;
  const exchange = new Exchange(
    token === undefined
      ? undefined
      : (progress) => {
          // That the client is gone shows when the reply is sent.
          mcpReq
            .notify({ method: 'notifications/progress', params: { ...progress, progressToken: token } })
            .catch(() => {});
        },
    onCancel,
  );
  carrier.track(mcpReq.id, exchange);
  const onAbort = (): void => {
    // The carrier reports the end of the connection: it may come right after the reply has left.
    if (isConnectionClosed(mcpReq.signal.reason)) return;
    exchange.cancel(mcpReq.signal.reason);
    carrier.abandon(mcpReq.id);
  };
  mcpReq.signal.addEventListener('abort', onAbort, { once: true });
  return exchange;
}

/** Runs a request within the limits of its session. Values nested too deeply can neither be sent to a server nor stored. */
export async function withinLimits<T>(session: Session, params: unknown, work: () => Promise<T>): Promise<T> {
  session.touch();
  if (isDeeperThan(params, MAX_LEVELS)) {
    const message = `the arguments are nested more than ${MAX_LEVELS} levels deep; flatten them`;
    throw new GatewayError('TOOL_ERR_INVALID_ARGUMENT', message);
  }
  const done = session.beginRequest();
  try {
    return await work();
  } finally {
    done();
  }
}

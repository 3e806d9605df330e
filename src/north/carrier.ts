import { GatewayError } from '../core/errors.ts';
import type { Session } from '../core/session/session.ts';
import { isDeeperThan, MAX_LEVELS } from '../lib/depth.ts';
import type { Exchange } from './exchange.ts';
import type { OutgoingMessage, RequestId } from './message.ts';

/** Carries messages to a client, and therefore knows whether replies arrive. */
export interface Carrier {
  /** Reports the fate of the reply to this request to `exchange`. */
  track(id: RequestId, exchange: Exchange): void;
  /** There will be no reply: the request was cancelled. */
  abandon(id: RequestId): void;
  /** Sends a reply, or another message on the stream of the client's request `on`; without it, on the standing stream. */
  send(message: OutgoingMessage, on?: RequestId): void;
  /** Whether a message that belongs to no request would reach the client now. */
  reaches(): boolean;
}

/**
 * Begins a request within the limits of its session, until `presence.endRequest()`. Values nested too deeply can neither be sent to
 * a server nor stored.
 */
export function beginWithinLimits(session: Session, params: unknown): void {
  session.presence.touch();
  if (isDeeperThan(params, MAX_LEVELS)) {
    const message = `the arguments are nested more than ${MAX_LEVELS} levels deep; flatten them`;
    throw new GatewayError('TOOL_ERR_INVALID_ARGUMENT', message);
  }
  session.presence.beginRequest();
}

/** Runs a request within the limits of its session. */
export async function withinLimits<T>(session: Session, params: unknown, work: () => Promise<T> | T): Promise<T> {
  beginWithinLimits(session, params);
  try {
    return await work();
  } finally {
    session.presence.endRequest();
  }
}

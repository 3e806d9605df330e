import type { RequestId } from '@modelcontextprotocol/server';
import type { Gateway } from '../../core/gateway.ts';

type Params = Record<string, unknown>;

/** Where notifications go that belong to no request, or to one that is open. */
export interface Wire {
  send(
    message: { jsonrpc: '2.0'; method: string; params?: Params },
    options?: { relatedRequestId?: RequestId },
  ): Promise<void>;
  /** Whether something that belongs to no request would reach the client now. */
  reaches(): boolean;
}

/** Tells a client something, on the stream of one of its requests if it belongs there. */
export function tellClient(
  { carrier, gateway }: { carrier: Wire; gateway: Gateway },
  method: string,
  params: Params | undefined,
  relatedRequestId?: RequestId,
): void {
  carrier
    .send(
      { jsonrpc: '2.0', method, ...(params && { params }) },
      relatedRequestId === undefined ? {} : { relatedRequestId },
    )
    .catch((error: unknown) => {
      gateway.log.debug('notification_not_sent', { method, error: String(error) });
    });
}

import type { Transport } from '@modelcontextprotocol/client';
import type { ServerTransport } from '../../src/south/transport/transport.ts';

/** A transport of the SDK in place of one of the gateway's. */
export function asServerTransport(transport: Transport): ServerTransport {
  const adapted: ServerTransport = {
    start: async () => transport.start(),
    send: async (message) => transport.send(message),
    close: async () => transport.close(),
  };
  transport.onmessage = (message) => adapted.onmessage?.(message, 'any');
  transport.onclose = () => adapted.onclose?.();
  transport.onerror = (error) => adapted.onerror?.(error);
  return adapted;
}

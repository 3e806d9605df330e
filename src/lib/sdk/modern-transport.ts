import {
  PerRequestHTTPServerTransport,
  type JSONRPCNotification,
  type JSONRPCRequest,
} from '@modelcontextprotocol/server';
import { MODERN_VERSION } from '../protocol.ts';

const CLASSIFICATION = { era: 'modern', revision: MODERN_VERSION } as const;

/**
 * A transport for one message of a client without sessions. The SDK's protocol objects serve the modern era only on their
 * own transport class, and take a message only with its classification. Nothing else of that class is used: subclasses
 * override `send`.
 */
export abstract class ModernTransport extends PerRequestHTTPServerTransport {
  constructor() {
    super({ classification: CLASSIFICATION });
  }

  protected receive(message: JSONRPCRequest | JSONRPCNotification): void {
    this.onmessage?.(message, { classification: CLASSIFICATION });
  }
}

import type { ServerResponse } from 'node:http';
import { ERROR_TABLE, type GatewayError } from '../../core/errors.ts';

/** An HTTP answer that is a JSON-RPC error. */
export function respondError(
  res: ServerResponse,
  status: number,
  code: number,
  message: string,
  options: { id?: unknown; data?: unknown; headers?: Record<string, string> } = {},
): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const { id = null, data, headers } = options;
  const body = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } });
  res.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(body);
}

/** The same for an error of the gateway: the table says which status and code. */
export function respondGatewayError(
  res: ServerResponse,
  { code, message, details }: GatewayError,
  options: { id?: unknown; headers?: Record<string, string> } = {},
): void {
  const { http, rpc } = ERROR_TABLE[code];
  respondError(res, http, rpc, message, { ...options, data: { code, ...details } });
}

/** The id that an error about this body answers. */
export function idOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'id' in body ? body.id : null;
}

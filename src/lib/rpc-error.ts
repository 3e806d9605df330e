import { shortenText } from './shorten.ts';

/** What a JSON-RPC error says. */
export interface RpcFailure {
  code: number;
  message: string;
  data?: unknown;
}

/** An error that leaves as a JSON-RPC error, with its code. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(shortenText(message));
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

/** What an error says that has a code. */
export function rpcFailure({ code, message, data }: RpcFailure): RpcFailure {
  return { code, message, ...(data !== undefined && { data }) };
}

/** What the parts of the rich server need to know of whoever speaks with it. */
export type Json = Record<string, unknown>;

export type Era = 'legacy' | 'modern';

export interface RpcFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface Request {
  readonly id: unknown;
  readonly method: string;
  readonly params: Json;
  /** `mcp-param-*` headers as they came. */
  readonly paramHeaders: Json;
}

/** Whoever sent the request that is to be answered. */
export interface Peer {
  reply(result: Json): void;
  fail(failure: RpcFailure): void;
  /** A notification about this request. */
  say(method: string, params?: Json): void;
  /** Calls back when nobody listens to this request any more. */
  onGone(callback: () => void): void;
}

/** A session of the old era. In the new one everybody is the same visitor, and only requests tell anything. */
export interface Visitor {
  /** Something about no request: a notification, or a request of our own if it has an id. */
  readonly say: (method: string, params?: Json, id?: string) => void;
  readonly subscribed: Set<string>;
  level: string | undefined;
  caller: Json;
}

/** An answer that is no result. */
export class Refusal extends Error {
  readonly failure: RpcFailure;

  constructor(failure: RpcFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

export function metaOf(params: Json): Json {
  return (params['_meta'] ?? {}) as Json;
}

/** What says who calls is told by `vendor/caller`; a token is whatever the sender likes. */
export function withoutEnvelope(params: Json): Json {
  const { _meta, ...rest } = params;
  const meta: Json = { ...(_meta as Json | undefined) };
  delete meta[META.protocolVersion];
  delete meta[META.clientInfo];
  delete meta[META.clientCapabilities];
  if ('progressToken' in meta) meta['progressToken'] = 'a token';
  return { ...rest, _meta: meta };
}

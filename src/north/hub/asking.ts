import type { RequestId, Server } from '@modelcontextprotocol/server';

/** How a client is asked while its own request is open, if it can be. */
export type Asking = AskingByRequest | AskingByRound;

/** It takes requests, on the stream of its own one. */
export interface AskingByRequest {
  by: 'request';
  /** What it declared that it can be asked. */
  capabilities: Record<string, unknown>;
  server: Server;
  on: RequestId;
}

/** It gets questions in place of the reply, and makes the same request again with the answers. */
export interface AskingByRound {
  by: 'round';
  capabilities: Record<string, unknown>;
  /** The task of the call that it goes on with. */
  taskId?: string;
  answers: Record<string, unknown>;
}

import type { Server } from '@modelcontextprotocol/sdk/server/index.js';

export interface V1Session {
  readonly server: Server;
  readonly subscriptions: Set<string>;
  /** Aborted when the session ends. */
  readonly ended: AbortController;
  logLevel: string | undefined;
}

/** What a test can see of a server, over all its sessions. */
export interface V1State {
  readonly calls: { tool: string; args: Record<string, unknown> }[];
  /** `tool` or `tool:text` of each call aborted before its end, by a cancellation or by the end of its session. */
  readonly cancelled: string[];
  /** URIs at least one live session subscribes to. */
  readonly subscriptions: Set<string>;
  readonly sessions: Set<V1Session>;
  /** Sessions ever opened. */
  connections: number;
  /** What the SDK reported out of band. */
  readonly errors: string[];
}

export function newV1State(): V1State {
  return { calls: [], cancelled: [], subscriptions: new Set(), sessions: new Set(), connections: 0, errors: [] };
}

export function openSession(state: V1State, server: Server): V1Session {
  const session: V1Session = {
    server,
    subscriptions: new Set(),
    ended: new AbortController(),
    logLevel: undefined,
  };
  state.sessions.add(session);
  state.connections += 1;
  return session;
}

export function endSession(state: V1State, session: V1Session): void {
  state.sessions.delete(session);
  session.ended.abort();
  syncSubscriptions(state);
}

export function syncSubscriptions(state: V1State): void {
  state.subscriptions.clear();
  for (const session of state.sessions) for (const uri of session.subscriptions) state.subscriptions.add(uri);
}

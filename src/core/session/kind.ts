/** The kinds of sessions: what the client sees, and who the session belongs to. */

/** What the client of a session sees: all servers through the tools of the hub, or one server as it is. */
export type View = { kind: 'hub' } | { kind: 'direct'; server: string };

export const HUB_VIEW: View = { kind: 'hub' };

export const directView = (server: string): View => ({ kind: 'direct', server });

export function isSameView(one: View, other: View): boolean {
  return one.kind === 'hub' ? other.kind === 'hub' : other.kind === 'direct' && one.server === other.server;
}

/** What a client said of itself. */
export interface ClientRecord {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  /** The name of the client program. */
  program?: string;
}

export type Owner =
  /** A client that has introduced itself, once for all of its requests. */
  | { kind: 'client'; client: ClientRecord }
  /** A connection whose client has not introduced itself: it describes itself with each request, if at all. */
  | { kind: 'connection' }
  /**
   * A named state of a principal, which clients that describe themselves with each request share. Earlier versions had
   * one for all clients of a principal, without a name: the first client that comes back gives it its own.
   */
  | { kind: 'state'; name?: string };

/**
 * Whether a session goes on without its client after a restart, even if none of its tasks does: what the client subscribed to
 * is collected for it, and the hub shows what the client of one server has left.
 */
export const resumes = ({ view, preferences }: { view: View; preferences?: unknown }): boolean =>
  view.kind === 'direct' || preferences !== undefined;

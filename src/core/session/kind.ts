/** The kinds of sessions: what the client sees, and who the session belongs to. */

/** What the client of a session sees: all servers through the tools of the hub, or servers as they are. */
export type View = HubView | NativeView;

export interface HubView {
  kind: 'hub';
}

export interface DirectView {
  kind: 'direct';
  server: string;
}

/** One server as it is, or a group of them as if they were one. */
export type NativeView = DirectView | { kind: 'group'; group: string };

export const HUB_VIEW: HubView = { kind: 'hub' };

export const directView = (server: string): DirectView => ({ kind: 'direct', server });

export const groupView = (group: string): NativeView => ({ kind: 'group', group });

export function isSameView(one: View, other: View): boolean {
  switch (one.kind) {
    case 'hub':
      return other.kind === 'hub';
    case 'direct':
      return other.kind === 'direct' && one.server === other.server;
    case 'group':
      return other.kind === 'group' && one.group === other.group;
  }
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

/** The name of the client program. A state is that of a program (`program=<name>`), or the client has named it (`as=<name>`). */
export function programOf(owner: Owner): string | undefined {
  switch (owner.kind) {
    case 'client':
      return owner.client.program;
    case 'connection':
      return undefined;
    case 'state': {
      const [, encoded] = /^program=(.*)$/s.exec(owner.name ?? '') ?? [];
      if (encoded === '') return undefined;
      return encoded === undefined ? owner.name?.replace(/^as=/, '') : decoded(encoded);
    }
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The name of the state in which a person tries tools in the console. */
export const CONSOLE_STATE = 'console';

/**
 * Whether a session goes on without its client after a restart, even if none of its tasks does: what the client subscribed to
 * is collected for it, and the hub shows what a client of the servers themselves has left.
 */
export const resumes = ({ view, preferences }: { view: View; preferences?: unknown }): boolean =>
  view.kind !== 'hub' || preferences !== undefined;

/** How the ids of sessions begin that belong to a connection, of which there is one. */
export const CONNECTION_SESSION = 'connection:';

/** The kinds of sessions: what the client sees, and who owns the session. */

/** What the client of a session sees: all servers through the hub tools, or servers natively. */
export type View = HubView | NativeView;

export interface HubView {
  kind: 'hub';
}

export interface DirectView {
  kind: 'direct';
  server: string;
}

/** One server, or a group of servers as one. */
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

/** What a client declared about itself. */
export interface ClientRecord {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  /** The name of the client program. */
  program?: string;
}

export type Owner =
  /** A client that has initialized once for all of its requests. */
  | { kind: 'client'; client: ClientRecord }
  /** A connection without `initialize`: the client describes itself with each request, if at all. */
  | { kind: 'connection' }
  /**
   * A named state of a principal, which clients that describe themselves with each request share. Earlier versions had
   * one unnamed state for all clients of a principal: the first client that returns gives it its name.
   */
  | { kind: 'state'; name?: string };

/** The name of the client program. A state is named after a program (`program=<name>`) or by the client (`as=<name>`). */
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
 * Whether a session continues without its client after a restart, even without unfinished tasks: events of subscriptions
 * are collected for it, and the hub shows what native clients have left.
 */
export const resumes = ({ view, preferences }: { view: View; preferences?: unknown }): boolean =>
  view.kind !== 'hub' || preferences !== undefined;

/** The prefix of session ids that belong to a connection. */
export const CONNECTION_SESSION = 'connection:';

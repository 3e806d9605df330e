import type { Clock } from '../../lib/clock.ts';
import { LazyMap, LazySet } from '../../lib/lazy-collections.ts';
import { messageOf, type Log } from '../../lib/log.ts';
import type { ListItem } from '../../lib/pages.ts';
import { timeoutSignal } from '../../lib/timers.ts';
import type { Budget } from '../budget.ts';
import type { EventSink } from '../event/log.ts';
import type { Answer } from '../interaction/interaction.ts';
import type { InteractionRouter } from '../interaction/router.ts';
import type { SessionNotifier } from '../notify/session-notifier.ts';
import type { SignIn } from '../ports/accounts.ts';
import type {
  Arrival,
  Backends,
  Connection,
  IncomingQuestion,
  RelatedRequest,
  ServerInfo,
} from '../ports/connection.ts';
import type { ServerConfig } from '../ports/server-config.ts';
import type { CoreSettings } from '../settings.ts';
import { Attachment, type BufferedLog, type BufferedNotification } from './attachment.ts';
import type { Preferences } from './preferences.ts';
import { LIST_KINDS, ReadLists, type ListKind } from './read-lists.ts';
import type { KnownServer, VisibleServers } from './registry.ts';

/** Tells a client that was asked to open a page that the sign-in is done. */
const SIGN_IN_DONE = 'notifications/elicitation/complete';

export type NotificationListener = (
  server: string,
  method: string,
  params: Record<string, unknown> | undefined,
  relatedRequest: RelatedRequest,
) => void;

interface ServerConnectionsParts {
  principal: string;
  servers: VisibleServers;
  backends: Backends;
  preferences: Preferences;
  interactions: InteractionRouter;
  /** Absent if the client has no event log. */
  events: EventSink | undefined;
  /** Absent without notification targets. */
  notifier: SessionNotifier | undefined;
  settings: CoreSettings;
  budget: Budget;
  log: Log;
  clock: Clock;
}

/** The session that owns the connections. */
interface SessionOfConnections {
  /** Whether the server is visible to its client. */
  sees: (server: string) => boolean;
  /** The tools of a server that are visible to its client. */
  toolsFor: (server: string, tools: ListItem[]) => ListItem[];
  readonly ended: boolean;
  /** Throws if it has ended. */
  assertOpen: () => void;
  /** Whether a server may ask the client for its roots. */
  offersRoots: (server: string) => boolean;
  ask: (server: string, question: IncomingQuestion) => Promise<Answer>;
  /** Ends everything that cannot continue without the server; returns counts of what was lost. */
  serverLost: (server: string, message: string) => Record<string, number>;
}

/** The connections of one session to its servers, with their lists and recent messages. */
export class ServerConnections {
  /** Called with every raw notification of a server. */
  readonly onNotification = new LazySet<NotificationListener>();
  /** What a direct client has read of its server's lists. */
  readonly readLists = new ReadLists();
  /** Called when lists that the client has read differ after a restart or replacement of the server. */
  readonly onListsChanged = new LazySet<(kind: ListKind) => void>();
  /** Called when a server is connected, for the first time or again. */
  readonly onArrived = new LazySet<(server: string, arrival: Arrival) => void>();
  /** Ids of the sign-ins that the client was shown, by server. */
  readonly #signInsShown = new LazyMap<string, Set<string>>();
  readonly #attachments = new Map<string, Attachment>();
  /** Trial connections that are not attached yet. */
  readonly #trials = new LazySet<Connection>();
  readonly #parts: ServerConnectionsParts;
  readonly #session: SessionOfConnections;

  constructor(parts: ServerConnectionsParts, session: SessionOfConnections) {
    this.#parts = parts;
    this.#session = session;
  }

  /** The attachment to a server, created on first use. */
  attachment(server: string): Attachment {
    const existing = this.#attachments.get(server);
    if (existing && this.#session.sees(server)) return existing;
    this.#session.assertOpen();
    const attachment = this.#newAttachment(server, this.#parts.servers.require(server));
    this.#attachments.set(server, attachment);
    return attachment;
  }

  /** The connection to a server that the session may not have used yet. */
  find(server: string): Connection | undefined {
    return this.#session.sees(server) ? this.#attachments.get(server)?.connection : undefined;
  }

  /** By the names of the servers. */
  all(): [server: string, connection: Connection][] {
    return [...this.#attachments].map(([server, { connection }]) => [server, connection]);
  }

  notifications(server?: string): BufferedNotification[] {
    return this.#buffered(server, ({ notifications }) => notifications.items());
  }

  logs(server?: string): BufferedLog[] {
    return this.#buffered(server, ({ logs }) => logs.items());
  }

  #buffered<T extends { timestamp: number }>(server: string | undefined, items: (from: Attachment) => T[]): T[] {
    if (server !== undefined) return items(this.attachment(server));
    const shown = [...this.#attachments].filter(([name]) => this.#session.sees(name));
    return shown.flatMap(([, attachment]) => items(attachment)).toSorted((a, b) => a.timestamp - b.timestamp);
  }

  /** Connects to a server with a config that is not in use yet. The connection is attached only by `keep`. */
  async tryServer(
    server: string,
    config: ServerConfig,
  ): Promise<{ info: ServerInfo; tools: ListItem[]; keep: () => Promise<void> }> {
    const { preferences } = this.#parts;
    const { uris: tried } = preferences.of(server);
    const attachment = this.#newAttachment(server, { config, addedBy: 'client' });
    const { connection } = attachment;
    this.#trials.add(connection);
    let info: ServerInfo;
    let tools: ListItem[];
    try {
      info = await connection.ready();
      tools = await attachment.catalog.list('tools');
    } catch (error) {
      this.#trials.delete(connection);
      await connection.close();
      attachment.clear();
      throw error;
    }
    const keep = async (): Promise<void> => {
      const { servers, interactions, log } = this.#parts;
      this.#trials.delete(connection);
      // The session may have ended, the server may have been removed again, or another attempt may have been faster.
      const wanted = !this.#session.ended && servers.get(server)?.config === config;
      if (!wanted || this.#attachments.has(server)) {
        await connection.close();
        attachment.clear();
        return;
      }
      this.#attachments.set(server, attachment);
      interactions.serverUsed(server);
      attachment.connected('first', info);
      // The preferences may have changed during the trial.
      const { uris } = preferences.of(server);
      await Promise.all([
        ...uris.filter((uri) => !tried.includes(uri)).map(async (uri) => connection.subscribe(uri)),
        ...tried.filter((uri) => !uris.includes(uri)).map(async (uri) => connection.unsubscribe(uri)),
      ]).catch((error: unknown) => {
        log.warn('subscriptions_not_restored', { server, error: messageOf(error) });
      });
    };
    return { info, tools, keep };
  }

  /** Removes the attachment to a server; the caller closes it. */
  detach(server: string): Attachment | undefined {
    const attachment = this.#attachments.get(server);
    this.#attachments.delete(server);
    return attachment;
  }

  /** Removes all attachments and trial connections; the caller closes them. */
  detachAll(): { attached: [server: string, Connection][]; trials: Connection[] } {
    const attached = this.all();
    this.#attachments.clear();
    return { attached, trials: [...this.#trials] };
  }

  #newAttachment(server: string, { config, addedBy }: Pick<KnownServer, 'config' | 'addedBy'>): Attachment {
    const { principal, backends, preferences, settings, budget, clock, events, notifier } = this.#parts;
    const session = this.#session;
    const traits = { principal, addedBy, roots: session.offersRoots(server), preferences: preferences.of(server) };
    return new Attachment(server, (sink) => backends.connect(server, config, sink, traits), settings, budget, {
      clock,
      isCurrent: (attachment) => this.#attachments.get(server) === attachment,
      events,
      asked: async (question) => session.ask(server, question),
      rawNotification: (method, params, relatedRequest) => this.#notify(server, method, params, relatedRequest),
      arrived: (attachment, arrival) => {
        for (const listener of this.onArrived) listener(server, arrival);
        notifier?.serverBack(server);
        void this.#tellListChanges(server, attachment);
      },
      lost: (message) => {
        notifier?.serverLost(server, message);
        return session.serverLost(server, message);
      },
    });
  }

  #notify(...[server, ...notification]: Parameters<NotificationListener>): void {
    if (!this.#session.sees(server)) return;
    for (const listener of this.onNotification) listener(server, ...notification);
  }

  /** The client was shown a sign-in link. */
  signInShown({ server, id }: Pick<SignIn, 'server' | 'id'>): void {
    const shown = this.#signInsShown.get(server) ?? new Set();
    this.#signInsShown.set(server, shown.add(id));
  }

  /** Tells the client that the sign-in is done, and connects a server that waited for it: `true` if there was one. */
  async accountChanged(server: string): Promise<boolean> {
    const shown = this.#signInsShown.get(server) ?? [];
    this.#signInsShown.delete(server);
    for (const elicitationId of shown) this.#notify(server, SIGN_IN_DONE, { elicitationId }, 'no request');
    const connection = this.#attachments.get(server)?.connection;
    const status = connection?.status;
    if (connection === undefined || status?.state !== 'failed') return false;
    if (status.failure !== 'sign_in' && status.failure !== 'no_token') return false;
    await connection.ready();
    return true;
  }

  /** Notifies a group client that its set of servers has changed. */
  notifyListsChanged(): void {
    for (const kind of LIST_KINDS) for (const notify of this.onListsChanged) notify(kind);
  }

  /** The lists that the client has read may be outdated: the server restarted or was replaced. */
  async #tellListChanges(server: string, attachment: Attachment): Promise<void> {
    if (this.readLists.isEmpty) return;
    const { settings, log, clock } = this.#parts;
    const { signal, cancel } = timeoutSignal(settings.calls.timeoutMs, clock);
    try {
      const kinds = await this.readLists.changedAt(attachment.connection, signal, (name, items) =>
        name === 'tools' ? this.#session.toolsFor(server, items) : items,
      );
      if (this.#attachments.get(server) !== attachment) return;
      for (const kind of kinds) for (const notify of this.onListsChanged) notify(kind);
    } catch (error) {
      // If the server is lost again, its next arrival brings the next comparison.
      log.debug('lists_not_compared', { server, error: messageOf(error) });
    } finally {
      cancel();
    }
  }
}

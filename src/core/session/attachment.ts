import { Ring } from '../../lib/ring.ts';
import type { EventSink } from '../event/log.ts';
import type { About, Arrival, Connection, ConnectionSink, IncomingQuestion, ServerInfo, ServerLog } from '../ports.ts';
import type { Answer } from '../question/question.ts';
import type { CoreSettings } from '../settings.ts';
import { Catalog } from './catalog.ts';

export interface BufferedLog extends ServerLog {
  server: string;
  timestamp: number;
}

export interface BufferedNotification {
  server: string;
  timestamp: number;
  method: string;
  params: Record<string, unknown>;
}

/** The session behind an attachment. */
export interface AttachmentHost {
  /** Whether this is what the session has of that server; it may not be yet, or not any more. */
  isCurrent: (attachment: Attachment) => boolean;
  /** Absent where the client has no place for events. */
  events: EventSink | undefined;
  asked: (question: IncomingQuestion) => Promise<Answer>;
  heard: NonNullable<ConnectionSink['heard']>;
  /** The server is there, for the first time or again. */
  arrived: (attachment: Attachment) => void;
  /** Ends what cannot go on without the server, and tells how much that was. */
  lost: (message: string) => Record<string, number>;
}

/**
 * One server as a session sees it: the connection, its lists, and what it has said of late. What the connection tells is
 * heard only while it is the one that the session has to that server.
 */
export class Attachment implements ConnectionSink {
  readonly connection: Connection;
  readonly catalog: Catalog;
  readonly notifications: Ring<BufferedNotification>;
  readonly logs: Ring<BufferedLog>;
  /** What the last loss has cost, told again when the server is back. */
  #invalidated: Record<string, number> = {};
  readonly #server: string;
  readonly #host: AttachmentHost;

  constructor(
    server: string,
    connect: (sink: ConnectionSink) => Connection,
    { calls, events }: CoreSettings,
    host: AttachmentHost,
  ) {
    this.#server = server;
    this.#host = host;
    this.notifications = new Ring(events.notificationsPerServer);
    this.logs = new Ring(events.logsPerServer);
    this.connection = connect(this);
    this.catalog = new Catalog(this.connection, calls.timeoutMs);
  }

  connected(arrival: Arrival, info: ServerInfo): void {
    if (!this.#host.isCurrent(this)) return;
    this.#host.arrived(this);
    if (arrival === 'first') this.#tell('server_connected', { capabilities: info.capabilities });
    else if (this.#host.events) void this.#reconcile(arrival);
  }

  lost(reason: string): void {
    if (!this.#host.isCurrent(this)) return;
    this.#invalidated = this.#host.lost(`server '${this.#server}' disconnected: ${reason}`);
    this.#tell('server_disconnected', { reason });
  }

  async question(question: IncomingQuestion): Promise<Answer> {
    return this.#host.asked(question);
  }

  heard(method: string, params: Record<string, unknown> | undefined, about: About): void {
    if (this.#host.isCurrent(this)) this.#host.heard(method, params, about);
  }

  notification(method: string, params: Record<string, unknown>): void {
    const { isCurrent, events } = this.#host;
    if (!isCurrent(this)) return;
    this.catalog.onNotification(method);
    if (events === undefined) return;
    const server = this.#server;
    const timestamp = Date.now();
    this.notifications.push({ server, timestamp, method, params });
    events.add('notification', server, { method, params, timestamp: new Date(timestamp).toISOString() });
  }

  log(entry: ServerLog): void {
    this.logs.push({ ...entry, server: this.#server, timestamp: Date.now() });
  }

  async #reconcile(arrival: Arrival): Promise<void> {
    const refreshed = await this.catalog.refresh();
    if (!this.#host.isCurrent(this)) return;
    this.#tell('server_reconnected', {
      type: arrival === 'restart' ? 'restart' : 'network_blip',
      refreshedTools: refreshed.tools,
      refreshedResources: refreshed.resources,
      refreshedPrompts: refreshed.prompts,
      ...this.#invalidated,
    });
  }

  #tell(type: 'server_connected' | 'server_reconnected' | 'server_disconnected', about: Record<string, unknown>): void {
    this.#host.events?.add(type, this.#server, { name: this.#server, ...about });
  }
}

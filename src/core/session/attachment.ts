import type { Clock } from '../../lib/clock.ts';
import { Ring } from '../../lib/ring.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { shortenValue } from '../../lib/shorten.ts';
import type { Budget } from '../budget.ts';
import type { EventSink } from '../event/log.ts';
import type {
  RelatedRequest,
  Arrival,
  Connection,
  ConnectionSink,
  IncomingQuestion,
  ServerInfo,
  ServerLog,
} from '../ports/connection.ts';
import type { Answer } from '../interaction/interaction.ts';
import type { CoreSettings } from '../settings.ts';
import { Catalog } from './catalog.ts';

export interface BufferedLog extends ServerLog {
  server: string;
  timestamp: number;
  truncated?: true;
}

export interface BufferedNotification {
  server: string;
  timestamp: number;
  method: string;
  params: Record<string, unknown>;
  truncated?: true;
}

/** How many entries of maximum size are kept per server. */
const LARGE_ENTRIES = 16;

/** The session behind an attachment. */
export interface AttachmentHost {
  clock: Clock;
  /** Whether this is the session's current attachment to the server. */
  isCurrent: (attachment: Attachment) => boolean;
  /** Absent if the client has no event log. */
  events: EventSink | undefined;
  asked: (question: IncomingQuestion) => Promise<Answer>;
  rawNotification: NonNullable<ConnectionSink['rawNotification']>;
  /** The server is connected, for the first time or again. */
  arrived: (attachment: Attachment, arrival: Arrival) => void;
  /** Ends everything that cannot continue without the server; returns counts of what was lost. */
  lost: (message: string) => Record<string, number>;
}

/**
 * One server as a session sees it: the connection, its lists and its recent messages. Messages count only while this is the
 * session's current connection to that server.
 */
export class Attachment implements ConnectionSink {
  readonly connection: Connection;
  readonly catalog: Catalog;
  readonly notifications: Ring<BufferedNotification>;
  readonly logs: Ring<BufferedLog>;
  /** What the last disconnect has cost; reported again when the server is back. */
  #invalidated: Record<string, number> = {};
  readonly #server: string;
  readonly #host: AttachmentHost;
  readonly #entryBytes: number;

  constructor(
    server: string,
    connect: (sink: ConnectionSink) => Connection,
    { all, calls, events, limits }: CoreSettings,
    budget: Budget,
    host: AttachmentHost,
  ) {
    this.#server = server;
    this.#host = host;
    this.#entryBytes = limits.entryBytes;
    const bytes = LARGE_ENTRIES * limits.entryBytes;
    this.notifications = new Ring({ count: events.notificationsPerServer, bytes }, budget);
    this.logs = new Ring({ count: events.logsPerServer, bytes }, budget);
    this.connection = connect(this);
    // With a short `calls.timeoutMs`, calls become tasks, but lists would fail.
    const timeoutMs = Math.max(calls.timeoutMs, all.listTimeoutMs);
    this.catalog = new Catalog(this.connection, timeoutMs, budget, host.clock);
  }

  connected(arrival: Arrival, info: ServerInfo): void {
    if (!this.#host.isCurrent(this)) return;
    if (arrival !== 'first') this.catalog.clear();
    this.#host.arrived(this, arrival);
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

  rawNotification(method: string, params: Record<string, unknown> | undefined, relatedRequest: RelatedRequest): void {
    if (this.#host.isCurrent(this)) this.#host.rawNotification(method, params, relatedRequest);
  }

  notification(method: string, params: Record<string, unknown>): void {
    const { clock, isCurrent, events } = this.#host;
    if (!isCurrent(this)) return;
    this.catalog.onNotification(method);
    if (events === undefined) return;
    const server = this.#server;
    const timestamp = clock.now();
    const { entry, bytes } = this.#shortened({ method, params });
    this.notifications.push({ server, timestamp, ...entry }, bytes);
    events.add('notification', server, { ...entry, timestamp: new Date(timestamp).toISOString() });
  }

  log(given: ServerLog): void {
    const { entry, bytes } = this.#shortened(given);
    this.logs.push({ ...entry, server: this.#server, timestamp: this.#host.clock.now() }, bytes);
  }

  /** Releases the data kept for the server. */
  clear(): void {
    this.notifications.clear();
    this.logs.clear();
    this.catalog.clear();
  }

  #shortened<T extends object>(given: T): { entry: T & { truncated?: true }; bytes: number } {
    const bytes = roughSize(given, this.#entryBytes);
    if (bytes <= this.#entryBytes) return { entry: given, bytes };
    return { entry: { ...(shortenValue(given, this.#entryBytes) as T), truncated: true }, bytes: this.#entryBytes };
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

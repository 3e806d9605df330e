/** The lists of several servers as one. */

import type { ListName } from '../../core/session/catalog.ts';
import { LISTS } from '../../core/session/catalog.ts';
import type { ListKind } from '../../core/session/read-lists.ts';
import type { Session } from '../../core/session/session.ts';
import type { Arrival, ConnectionStatus } from '../../core/ports/connection.ts';
import { messageOf } from '../../lib/log.ts';
import type { ListItem } from '../../lib/pages.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { every, within } from '../../lib/timers.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

/** How often to retry unreachable servers and failed lists. */
const RETRY_MS = 60_000;

/** An entry of one server, and its form for the client. */
export interface GroupEntry {
  server: string;
  /** The server's own name or URI of the entry. */
  id: string;
  shown: ListItem;
}

/** A list of all servers. */
export interface MergedList {
  entries: readonly GroupEntry[];
  /** The entries by the name or URI that the client knows. */
  byId: ReadonlyMap<string, GroupEntry>;
  /** The servers whose part is missing, and why. */
  missing: Readonly<Record<string, string>>;
  /** Entries that are skipped because of a name clash. */
  clashes: readonly Clash[];
}

export interface Clash {
  /** The name that both would have. */
  name: string;
  servers: readonly [string, string];
}

/** Shows an entry of a server; `undefined` if it is not shown. `taken`: names and addresses of the servers before it. */
export type Show = (server: string, item: ListItem, taken: ReadonlyMap<string, GroupEntry>) => ListItem | undefined;

/** One list of one server. */
interface Part {
  /** As it was last read. */
  items?: ListItem[];
  /** The catalog's array at the last read; `items` is an earlier array if the contents are equal. */
  source?: ListItem[];
  /** Its size in the session's memory budget. */
  bytes: number;
  /** Why it could not be read last time. */
  failed?: string;
  /** It is being read in the background; clients are notified when it is ready. */
  late?: true;
  /** The last reading took longer than clients wait. */
  slow?: boolean;
}

interface GroupListsParts {
  session: Session;
  /** Reports a problem once. */
  report: (event: string, about: Record<string, string>) => void;
  show: Readonly<Record<ListName, Show>>;
  limits: { listTimeoutMs: number; listBytes: number };
}

/**
 * Reads the lists of all servers of a session concurrently. A slow, unreachable or faulty server delays a client at most
 * once, and its last known part is shown meanwhile. When it is ready, the client is notified that the list has changed.
 */
export class GroupLists {
  readonly #session: Session;
  readonly #report: GroupListsParts['report'];
  readonly #show: GroupListsParts['show'];
  readonly #limits: GroupListsParts['limits'];
  readonly #parts = new Map<string, Partial<Record<ListName, Part>>>();
  readonly #merged = new Map<ListName, { sources: readonly unknown[]; list: MergedList }>();
  /** The lists that the client has requested. */
  readonly #wanted = new Set<ListName>();
  /** Until when clients wait for each server to connect. */
  readonly #awaitedUntil = new Map<string, number>();

  constructor({ session, report, show, limits }: GroupListsParts) {
    this.#session = session;
    this.#report = report;
    this.#show = show;
    this.#limits = limits;
    session.connections.onArrived.add((server, arrival) => void this.#arrived(server, arrival));
  }

  /** The list as it was last shown, if it was. */
  known(name: ListName): MergedList | undefined {
    return this.#merged.get(name)?.list;
  }

  async list(name: ListName): Promise<MergedList> {
    const servers = this.#session.shown;
    if (this.#wanted.size === 0) this.#retryFailed();
    this.#wanted.add(name);
    this.#forgetOthers(servers);
    const current = servers.map((server) => this.#current(server, name));
    const parts = current.every((part) => part !== undefined)
      ? current
      : await Promise.all(servers.map(async (server, index) => current[index] ?? this.#read(server, name)));
    const sources = [
      this.#session.access?.version,
      ...parts.flatMap(({ items, failed }, index) => [servers[index], items, failed]),
    ];
    const before = this.#merged.get(name);
    if (before && isSame(before.sources, sources)) return before.list;
    const list = this.#merge(name, servers, parts);
    this.#merged.set(name, { sources, list });
    return list;
  }

  /** A client may wait for a change notification without sending requests. */
  #retryFailed(): void {
    const retry = (): void => {
      if (this.#session.ended) stop();
      else for (const server of this.#session.shown) this.#retry(server);
    };
    const stop = every(RETRY_MS, retry, this.#session.clock);
  }

  #retry(server: string): void {
    const state = this.#state(server);
    if (state === 'failed') this.#session.connectInBackground(server);
    if (state !== 'connected') return;
    for (const name of this.#wanted) {
      const part = this.#parts.get(server)?.[name];
      if (part?.failed !== undefined && !part.late) this.#readLate(part, this.#update(server, name), name);
    }
  }

  /** How long a client waits for a server: once for its connection, and then for each of its lists. */
  patience(server: string): number {
    const { listTimeoutMs } = this.#limits;
    if (this.#state(server) === 'connected') return listTimeoutMs;
    const now = this.#session.clock.now();
    const until = this.#awaitedUntil.get(server) ?? now + listTimeoutMs;
    this.#awaitedUntil.set(server, until);
    return Math.max(0, until - now);
  }

  #state(server: string): ConnectionStatus['state'] {
    return this.#session.connections.find(server)?.status.state ?? 'idle';
  }

  /** The cached part of a server that announces changes, if it is up to date. */
  #current(server: string, name: ListName): Part | undefined {
    const part = this.#parts.get(server)?.[name];
    if (part?.source === undefined || part.failed !== undefined || this.#state(server) !== 'connected')
      return undefined;
    return this.#session.catalog(server).kept(name) === part.source ? part : undefined;
  }

  /** The part of one server. Does not wait if it was slow or failed last time. */
  async #read(server: string, name: ListName): Promise<Part> {
    const part = this.#part(server, name);
    if (part.late) return part;
    const state = this.#state(server);
    const isKnown = part.items !== undefined && (state !== 'connected' || part.slow === true);
    if (part.failed !== undefined || isKnown) {
      if (state === 'connected') this.#readLate(part, this.#update(server, name), name);
      // In all other states it is being connected, and its arrival is reported.
      else if (state === 'idle' || state === 'failed') this.#session.connectInBackground(server);
      return part;
    }
    const patience = this.patience(server);
    const reading = this.#update(server, name);
    const isInTime = patience > 0 && (await within(patience, reading, this.#session.clock)) !== undefined;
    if (!isInTime) {
      part.failed = `the server did not answer ${LISTS[name].method} within ${this.#limits.listTimeoutMs} ms`;
      this.#readLate(part, reading, name);
    }
    return part;
  }

  /** Continues in the background; the client is notified when the list is ready. */
  #readLate(part: Part, reading: Promise<boolean>, name: ListName): void {
    part.late = true;
    void reading.then((changed) => {
      delete part.late;
      if (changed) this.#tell(LISTS[name].capability);
    });
  }

  /** Reads a part; returns whether it has changed. */
  async #update(server: string, name: ListName): Promise<boolean> {
    const part = this.#part(server, name);
    const { clock } = this.#session;
    const begun = clock.now();
    try {
      const items = await this.#session.catalog(server).list(name);
      part.slow = clock.now() - begun > this.#limits.listTimeoutMs;
      // The server may have been removed meanwhile.
      const changed = this.#parts.get(server)?.[name] === part && this.#replace(part, items, name);
      delete part.failed;
      return changed;
    } catch (error) {
      part.failed = messageOf(error);
      if (!this.#session.ended) this.#report('list_not_read', { server, list: name, error: part.failed });
      return false;
    }
  }

  /** Keeps equal lists, so that the group is merged again only after a change. */
  #replace(part: Part, items: ListItem[], name: ListName): boolean {
    if (items === part.source) return false;
    const bytes = roughSize(items, this.#limits.listBytes);
    if (bytes > this.#limits.listBytes) {
      throw new Error(
        `its answer to ${LISTS[name].method} is larger than all.listBytes = ${this.#limits.listBytes} bytes`,
      );
    }
    const changed = stringifyExact(items) !== stringifyExact(part.items ?? []);
    if (changed || part.items === undefined) this.#keep(part, items, bytes);
    part.source = items;
    return changed;
  }

  #keep(part: Part, items: ListItem[], bytes: number): void {
    const { budget } = this.#session;
    budget.give(part.bytes);
    if (!budget.take(bytes)) {
      const shortage = budget.shortage(bytes);
      budget.take(part.bytes);
      throw new Error(`no memory left for its list: ${shortage}`);
    }
    part.bytes = bytes;
    part.items = items;
  }

  /** Releases the parts of servers that are no longer shown. */
  #forgetOthers(servers: readonly string[]): void {
    for (const [server, parts] of this.#parts) {
      if (servers.includes(server)) continue;
      for (const { bytes } of Object.values(parts)) this.#session.budget.give(bytes);
      this.#parts.delete(server);
      this.#awaitedUntil.delete(server);
    }
  }

  /** A server is connected, for the first time or again: compares its lists with those the client was shown. */
  async #arrived(server: string, arrival: Arrival): Promise<void> {
    const changed = await Promise.all(
      [...this.#wanted].map(async (name) => {
        const part = this.#parts.get(server)?.[name];
        // It is being read, and that read reports the change.
        if (part?.late || (part && part.items === undefined && part.failed === undefined)) return undefined;
        const isDifferent = await this.#update(server, name);
        return isDifferent || arrival === 'restart' ? LISTS[name].capability : undefined;
      }),
    );
    for (const kind of new Set(changed)) if (kind !== undefined) this.#tell(kind);
  }

  #tell(kind: ListKind): void {
    for (const notify of this.#session.connections.onListsChanged) notify(kind);
  }

  #merge(name: ListName, servers: readonly string[], parts: readonly Part[]): MergedList {
    const byId = new Map<string, GroupEntry>();
    const missing: Record<string, string> = {};
    const clashes: Clash[] = [];
    const { id } = LISTS[name];
    for (const [index, { items = [], failed }] of parts.entries()) {
      const server = servers[index] ?? '';
      if (failed !== undefined) missing[server] = failed;
      const seen = new Set<unknown>();
      for (const item of items) {
        const own = String(item[id]);
        if (seen.has(own)) {
          this.#report('listed_twice', { server, list: name, [id]: own });
          continue;
        }
        seen.add(own);
        const shown = this.#show[name](server, item, byId);
        if (shown === undefined) continue;
        const key = String(shown[id]);
        const other = byId.get(key);
        if (other === undefined) {
          byId.set(key, { server, id: own, shown });
          continue;
        }
        clashes.push({ name: key, servers: [other.server, server] });
        this.#report('name_clash', { server, list: name, [id]: own, shownAs: key, alsoOf: other.server });
      }
    }
    return { entries: [...byId.values()], byId, missing, clashes };
  }

  #part(server: string, name: ListName): Part {
    const parts = this.#parts.get(server) ?? {};
    this.#parts.set(server, parts);
    parts[name] ??= { bytes: 0 };
    return parts[name];
  }
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

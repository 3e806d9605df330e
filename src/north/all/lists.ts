/** The lists of several servers as one. */

import type { ListName } from '../../core/session/catalog.ts';
import { LISTS } from '../../core/session/catalog.ts';
import type { ListKind } from '../../core/session/read-lists.ts';
import type { Session } from '../../core/session/session.ts';
import type { Arrival } from '../../core/ports.ts';
import { messageOf } from '../../lib/log.ts';
import type { ListItem } from '../../lib/pages.ts';
import { roughSize } from '../../lib/rough-size.ts';
import { within } from '../../lib/timers.ts';
import { stringifyExact } from '../../lib/exact-json.ts';

/** An entry of one server, and as the client sees it. */
export interface Entry {
  server: string;
  /** The server's own name or address of it. */
  id: string;
  shown: ListItem;
}

/** A list of all servers. */
export interface MergedList {
  entries: readonly Entry[];
  /** The entries by the name or address that the client knows. */
  byId: ReadonlyMap<string, Entry>;
  /** The servers whose part is missing, and why. */
  missing: Readonly<Record<string, string>>;
  /** Entries that would be shown under the name of another one, and are left out. */
  clashes: readonly Clash[];
}

export interface Clash {
  /** The name that both would have. */
  name: string;
  servers: readonly [string, string];
}

/** Shows an entry of a server; `undefined` if it is not shown. `taken`: names and addresses of the servers before it. */
export type Show = (server: string, item: ListItem, taken: ReadonlyMap<string, Entry>) => ListItem | undefined;

/** What is known of one list of one server. */
interface Part {
  /** As it was last read. */
  items?: ListItem[] | undefined;
  /** What it takes of the session's memory. */
  bytes: number;
  /** Why it could not be read last time. */
  failed?: string;
  /** It takes longer than clients wait; they hear when it is there. */
  late?: true;
}

interface GroupListsParts {
  session: Session;
  /** Tells of a problem, once. */
  report: (event: string, about: Record<string, string>) => void;
  show: Readonly<Record<ListName, Show>>;
  limits: { listTimeoutMs: number; listBytes: number };
}

/**
 * Reads the lists of all servers of a session at the same time. A server that is slow, away or faulty delays nobody more than
 * once, and its part as it was last read is shown meanwhile. When it is there, the client hears that the list has changed.
 */
export class GroupLists {
  readonly #session: Session;
  readonly #report: GroupListsParts['report'];
  readonly #show: GroupListsParts['show'];
  readonly #limits: GroupListsParts['limits'];
  readonly #parts = new Map<string, Partial<Record<ListName, Part>>>();
  readonly #merged = new Map<ListName, { sources: readonly unknown[]; list: MergedList }>();

  constructor({ session, report, show, limits }: GroupListsParts) {
    this.#session = session;
    this.#report = report;
    this.#show = show;
    this.#limits = limits;
    session.onArrived.add((server, arrival) => void this.#arrived(server, arrival));
  }

  /** The list as it was last shown, if it was. */
  known(name: ListName): MergedList | undefined {
    return this.#merged.get(name)?.list;
  }

  async list(name: ListName): Promise<MergedList> {
    const servers = this.#session.shown;
    const parts = await Promise.all(servers.map(async (server) => this.#read(server, name)));
    const sources = parts.flatMap(({ items, failed }, index) => [servers[index], items, failed]);
    const before = this.#merged.get(name);
    if (before && isSame(before.sources, sources)) return before.list;
    const list = this.#merge(name, servers, parts);
    this.#merged.set(name, { sources, list });
    return list;
  }

  /** The part of one server. Only the first reading is waited for. */
  async #read(server: string, name: ListName): Promise<Part> {
    const part = this.#part(server, name);
    if (part.late) return part;
    const state = this.#session.connectionIfAny(server)?.status.state ?? 'idle';
    if (part.failed !== undefined || (part.items !== undefined && state !== 'connected')) {
      if (state === 'connected') this.#readLate(part, this.#update(server, name), name);
      // In all other states it is being connected; its arrival is heard of.
      else if (state === 'idle' || state === 'failed') this.#session.connectInBackground(server);
      return part;
    }
    const reading = this.#update(server, name);
    if ((await within(this.#limits.listTimeoutMs, reading, this.#session.clock)) === undefined) {
      part.failed = `the server did not answer ${LISTS[name].method} within ${this.#limits.listTimeoutMs} ms`;
      this.#readLate(part, reading, name);
    }
    return part;
  }

  /** Nobody waits for it; the client hears when it is there. */
  #readLate(part: Part, reading: Promise<boolean>, name: ListName): void {
    part.late = true;
    void reading.then((changed) => {
      delete part.late;
      if (changed) this.#tell(LISTS[name].capability);
    });
  }

  /** Reads a part; tells whether it is different now. */
  async #update(server: string, name: ListName): Promise<boolean> {
    const part = this.#part(server, name);
    try {
      const items = await this.#session.catalog(server).list(name);
      const changed = items !== part.items && stringifyExact(items) !== stringifyExact(part.items ?? []);
      if (items !== part.items && (changed || part.items === undefined)) this.#keep(part, items, name);
      delete part.failed;
      return changed;
    } catch (error) {
      part.failed = messageOf(error);
      this.#report('list_not_read', { server, list: name, error: part.failed });
      return false;
    }
  }

  /** Equal lists are not replaced, so that the whole is merged only when something has changed. */
  #keep(part: Part, items: ListItem[], name: ListName): void {
    const { listBytes } = this.#limits;
    const { budget } = this.#session;
    const bytes = roughSize(items, listBytes);
    if (bytes > listBytes)
      throw new Error(`its answer to ${LISTS[name].method} is larger than all.listBytes = ${listBytes}`);
    budget.give(part.bytes);
    part.bytes = 0;
    part.items = undefined;
    if (!budget.take(bytes)) throw new Error(`there is no room for its list: ${budget.shortage(bytes)}`);
    part.bytes = bytes;
    part.items = items;
  }

  /** A server is there, for the first time or again: are its lists what the client was shown? */
  async #arrived(server: string, arrival: Arrival): Promise<void> {
    const read = Object.keys(this.#parts.get(server) ?? {}) as ListName[];
    const changed = await Promise.all(
      read.map(async (name) => {
        const { late, items, failed } = this.#part(server, name);
        // It is being read, and whoever does so tells of it.
        if (late || (items === undefined && failed === undefined)) return undefined;
        const isDifferent = await this.#update(server, name);
        return isDifferent || arrival === 'restart' ? LISTS[name].capability : undefined;
      }),
    );
    for (const kind of new Set(changed)) if (kind !== undefined) this.#tell(kind);
  }

  #tell(kind: ListKind): void {
    for (const notify of this.#session.onListsChanged) notify(kind);
  }

  #merge(name: ListName, servers: readonly string[], parts: readonly Part[]): MergedList {
    const byId = new Map<string, Entry>();
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

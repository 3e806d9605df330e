/** A history in memory, which several gateways of one process share. */

import {
  beganAt,
  endedAt,
  searchText,
  type EntryContent,
  type EntryWrite,
  type HistoryEntry,
} from '../../src/core/history/entry.ts';
import type { History, HistoryFilter, HistoryQuery, HistoryRange, ServerTally } from '../../src/core/ports/history.ts';

interface Row {
  entry: HistoryEntry;
  gateway: string;
  bytes: number;
}

/** What all gateways see. */
export class HistoryData {
  readonly rows = new Map<string, Row>();
  readonly watchers = new Set<() => void>();
  newest = 0;
  completeFrom = 0;

  put(row: Row): void {
    this.newest += 1;
    this.rows.set(row.entry.id, { ...row, entry: { ...row.entry, seq: this.newest } });
  }

  told(): void {
    for (const watcher of this.watchers) watcher();
  }
}

export class MemoryHistory implements History {
  readonly #data: HistoryData;
  readonly #gateway: string;
  readonly #isGone: (gateway: string) => boolean;
  /** Makes every `append` wait for it, and fail with it. */
  held: Promise<void> | undefined;

  constructor(data = new HistoryData(), gateway = 'this', isGone = (other: string): boolean => other !== gateway) {
    this.#data = data;
    this.#gateway = gateway;
    this.#isGone = isGone;
  }

  async append(writes: readonly EntryWrite[]): Promise<void> {
    await this.held;
    for (const { entry, content } of writes) {
      const stored = this.#data.rows.get(entry.id)?.entry;
      const reopens = endedAt(entry) === undefined && stored !== undefined && endedAt(stored) !== undefined;
      if (reopens && 'status' in stored && stored.status !== 'lost') continue;
      const written = {
        ...structuredClone(entry),
        ...copyOf(content ?? (stored && contentOf(stored))),
      } as HistoryEntry;
      this.#data.put({ entry: written, gateway: this.#gateway, bytes: JSON.stringify(written).length });
    }
    this.#data.told();
  }

  async read({
    order,
    cursor,
    limit,
    content = false,
    contentBytes = Infinity,
    ...filter
  }: HistoryQuery): Promise<HistoryEntry[]> {
    const sign = order === 'newest' ? -1 : 1;
    const compare = (a: { at: number; id: string }, b: { at: number; id: string }): number =>
      sign * (a.at - b.at || (a.id < b.id ? -1 : Number(a.id > b.id)));
    const placeOf = (entry: HistoryEntry): { at: number; id: string } => ({ at: beganAt(entry), id: entry.id });
    return this.#matching(filter)
      .filter((entry) => cursor === undefined || compare(placeOf(entry), cursor) > 0)
      .toSorted((a, b) => compare(placeOf(a), placeOf(b)))
      .slice(0, limit)
      .map((entry) => {
        const fits = JSON.stringify(contentOf(entry) ?? {}).length <= contentBytes;
        return content && fits ? entry : withoutContent(entry);
      });
  }

  async count(filter: HistoryFilter): Promise<number> {
    return this.#matching(filter).length;
  }

  async find(ids: readonly string[]): Promise<HistoryEntry[]> {
    return ids.flatMap((id) => this.#data.rows.get(id)?.entry ?? []);
  }

  async changesAfter(seq: number, limit: number, principal?: string): Promise<HistoryEntry[]> {
    return this.#all
      .filter((entry) => entry.seq > seq && (principal === undefined || entry.principal === principal))
      .toSorted((a, b) => a.seq - b.seq)
      .slice(0, limit)
      .map(withoutContent);
  }

  async range(): Promise<HistoryRange> {
    const { newest, completeFrom } = this.#data;
    return { newest, completeFrom };
  }

  async tally(since: number, principal?: string): Promise<ServerTally[]> {
    const tallies = new Map<string, ServerTally>();
    for (const entry of this.#all) {
      if (entry.kind === 'question' || beganAt(entry) < since) continue;
      if (principal !== undefined && entry.principal !== principal) continue;
      const { server } = entry;
      const tally = tallies.get(server) ?? { server, calls: 0, errors: 0 };
      tally.calls += entry.kind === 'summary' ? entry.count : 1;
      tally.errors +=
        entry.kind === 'summary' ? entry.errors : Number(entry.isError === true || entry.status === 'failed');
      tallies.set(server, tally);
    }
    return [...tallies.values()].toSorted((a, b) => (a.server < b.server ? -1 : 1));
  }

  watch(watcher: () => void): () => void {
    this.#data.watchers.add(watcher);
    return () => this.#data.watchers.delete(watcher);
  }

  async endLost(now: number): Promise<void> {
    for (const row of this.#data.rows.values()) {
      const { entry, gateway } = row;
      if (endedAt(entry) !== undefined || gateway === this.#gateway || !this.#isGone(gateway)) continue;
      this.#data.put({ ...row, entry: { ...entry, status: 'lost', endedAt: now } as HistoryEntry });
    }
    this.#data.told();
  }

  async trim(endedBefore: number, maxBytes: number): Promise<void> {
    const rows = [...this.#data.rows.values()];
    let bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const ended = rows
      .flatMap((row) => ({ row, at: endedAt(row.entry) ?? Infinity }))
      .filter(({ at }) => at !== Infinity)
      .toSorted((a, b) => a.at - b.at || a.row.entry.seq - b.row.entry.seq);
    for (const { row, at } of ended) {
      if (at >= endedBefore && bytes <= maxBytes) return;
      bytes -= row.bytes;
      this.#data.rows.delete(row.entry.id);
      this.#data.completeFrom = Math.max(this.#data.completeFrom, row.entry.seq);
    }
  }

  get #all(): HistoryEntry[] {
    return [...this.#data.rows.values()].map(({ entry }) => entry);
  }

  #matching(filter: HistoryFilter): HistoryEntry[] {
    return this.#all.filter((entry) => matches(entry, filter));
  }
}

function matches(entry: HistoryEntry, filter: HistoryFilter): boolean {
  const { kinds, active, statuses, task, text, from = -Infinity, to = Infinity, ...fields } = filter;
  const isSame = (['principal', 'server', 'tool', 'sessionId', 'callId'] as const).every(
    (field) => fields[field] === undefined || (entry as Partial<Record<typeof field, string>>)[field] === fields[field],
  );
  const at = beganAt(entry);
  return (
    isSame &&
    kinds.includes(entry.kind) &&
    (active === undefined || active === (endedAt(entry) === undefined)) &&
    (statuses === undefined || ('status' in entry && statuses.includes(entry.status))) &&
    (task === undefined || (entry.kind === 'call' && task === (entry.taskId !== undefined))) &&
    (text === undefined || searchText(entry).includes(text.toLowerCase())) &&
    from <= at &&
    at < to
  );
}

const CONTENT: ReadonlySet<string> = new Set(['arguments', 'result', 'params']);

/** Nested too deeply, contents have no JSON. */
function copyOf(content: EntryContent | undefined): EntryContent & { truncated?: boolean } {
  try {
    return content === undefined ? {} : structuredClone(content);
  } catch {
    return { truncated: true };
  }
}

const contentOf = (entry: HistoryEntry): EntryContent =>
  Object.fromEntries(Object.entries(entry).filter(([field]) => CONTENT.has(field)));

const withoutContent = (entry: HistoryEntry): HistoryEntry =>
  Object.fromEntries(Object.entries(entry).filter(([field]) => !CONTENT.has(field))) as unknown as HistoryEntry;

import { createHash, type Hash } from 'node:crypto';
import { readAllPages, type ListItem } from '../../lib/pages.ts';
import type { Connection } from '../ports/connection.ts';
import { LISTS, type ListName } from './catalog.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { LazyMap } from '../../lib/lazy-collections.ts';

/** The lists whose changes a server can announce: tools, resources (including templates) and prompts. */
export type ListKind = (typeof LISTS)[ListName]['capability'];

export const LIST_KINDS: readonly ListKind[] = ['tools', 'resources', 'prompts'];

/** How far the client has read a list, and a hash of what it has read. */
interface Reading {
  hash: Hash;
  count: number;
  /** The cursor of the next page; `undefined` at the end of the list. */
  next: unknown;
}

const NAMES = Object.keys(LISTS) as ListName[];

/**
 * Remembers what a direct client has read of its server's lists, so that it can be told which lists are
 * different after the server was restarted or replaced.
 */
export class ReadLists {
  readonly #readings = new LazyMap<ListName, Reading>();

  get isEmpty(): boolean {
    return this.#readings.size === 0;
  }

  /** Records a result that the client received; only list results matter. */
  record(method: string, params: Record<string, unknown>, result: Record<string, unknown>): void {
    const name = NAMES.find((each) => LISTS[each].method === method);
    if (name === undefined) return;
    const page: unknown = result[LISTS[name].key];
    if (!Array.isArray(page)) return;
    const { cursor } = params;
    const reading = cursor === undefined ? { hash: emptyHash(), count: 0, next: undefined } : this.#readings.get(name);
    // A page that does not follow the last one is useless for the comparison.
    if (reading === undefined || reading.next !== cursor) return;
    addTo(reading.hash, page);
    this.#readings.set(name, { ...reading, count: reading.count + page.length, next: result['nextCursor'] });
  }

  /** Reads the same lists from the current server; returns which kinds are different. */
  async changedAt(
    connection: Connection,
    signal: AbortSignal,
    shown: (name: ListName, items: ListItem[]) => ListItem[] = (_name, items) => items,
  ): Promise<Set<ListKind>> {
    const changed = new Set<ListKind>();
    const { capabilities } = await connection.ready();
    for (const name of this.#readings.keys()) {
      const { method, key, capability } = LISTS[name];
      const items =
        capabilities[capability] === undefined
          ? []
          : await readAllPages(async (page) => connection.request(method, page, signal), method, key);
      // Only now, because the client may have read the list again meanwhile.
      const reading = this.#readings.get(name);
      if (reading !== undefined && !isSame(reading, shown(name, items))) changed.add(capability);
    }
    return changed;
  }
}

function isSame({ hash, count, next }: Reading, items: unknown[]): boolean {
  const enough = next === undefined ? items.length === count : items.length >= count;
  if (!enough) return false;
  const other = emptyHash();
  addTo(other, items.slice(0, count));
  return other.digest('base64') === hash.copy().digest('base64');
}

const emptyHash = (): Hash => createHash('sha256');

/** Item by item, because pages may be cut differently next time. */
function addTo(hash: Hash, items: unknown[]): void {
  for (const item of items) hash.update(stringifyExact(item));
}

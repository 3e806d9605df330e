import { roughSize } from './rough-size.ts';
import { shortenText } from './shorten.ts';

export type ListItem = Record<string, unknown>;

const MAX_PAGES = 1000;
const MAX_ENTRIES = 100_000;
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Reads a paged list to its end. `ask` gets the parameters of one page; `what` names the list in errors. Entries may be
 * anything. A list that is too long is an error: a server could send pages without end.
 */
export async function readAllPages(
  ask: (params: { cursor?: string }) => Promise<Record<string, unknown>>,
  what: string,
  key: string,
): Promise<ListItem[]> {
  const items: ListItem[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const reply = await ask(cursor === undefined ? {} : { cursor });
    const found = reply[key];
    if (Array.isArray(found)) {
      if (items.length + found.length > MAX_ENTRIES) throw new Error(`${what} has more than ${MAX_ENTRIES} entries`);
      for (const item of found as ListItem[]) items.push(item);
    }
    bytes += roughSize(reply, MAX_BYTES);
    if (bytes > MAX_BYTES) throw new Error(`${what} is larger than ${MAX_BYTES} bytes`);
    const next = reply['nextCursor'];
    if (typeof next !== 'string' || next === '') return items;
    if (seen.has(next)) throw new Error(`the server repeats the cursor '${shortenText(next, 100)}' of ${what}`);
    seen.add(next);
    cursor = next;
  }
  throw new Error(`${what} has more than ${MAX_PAGES} pages`);
}

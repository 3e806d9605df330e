export type ListItem = Record<string, unknown>;

const MAX_PAGES = 1000;

/** Reads a paged list to its end. `ask` gets the parameters of one page; `what` names the list in errors. */
export async function readAllPages(
  ask: (params: { cursor?: string }) => Promise<Record<string, unknown>>,
  what: string,
  key: string,
): Promise<ListItem[]> {
  const items: ListItem[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const reply = await ask(cursor === undefined ? {} : { cursor });
    const found = reply[key];
    if (Array.isArray(found)) items.push(...(found as ListItem[]));
    const next = reply['nextCursor'];
    if (typeof next !== 'string' || next === '') return items;
    if (seen.has(next)) throw new Error(`the server repeats the cursor '${next}' of ${what}`);
    seen.add(next);
    cursor = next;
  }
  throw new Error(`${what} has more than ${MAX_PAGES} pages`);
}

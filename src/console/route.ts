/** Routes are in the fragment of the address, so each item has a link and the gateway serves one page. */

export type PageName = 'inbox' | 'work' | 'timeline' | 'servers' | 'sessions';

export interface Route {
  page: PageName;
  /** Of the question or call, or the name of the server. */
  id?: string;
  filters: Record<string, string>;
}

const LISTS: readonly PageName[] = ['inbox', 'work', 'timeline', 'servers', 'sessions'];
const ITEMS: Record<string, PageName> = { q: 'inbox', c: 'work', s: 'servers' };
const LETTERS: Partial<Record<PageName, string>> = { inbox: 'q', work: 'c', servers: 's' };

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [first = '', ...rest] = path.split('/');
  const filters = Object.fromEntries(new URLSearchParams(query));
  const page = ITEMS[first];
  if (page !== undefined && rest.length > 0) return { page, id: decoded(rest.join('/')), filters };
  return { page: LISTS.find((name) => name === first) ?? 'inbox', filters };
}

export function hrefOf(page: PageName, id?: string, filters: Record<string, string | undefined> = {}): string {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
  const letter = LETTERS[page];
  const path = id === undefined || letter === undefined ? page : `${letter}/${encodeURIComponent(id)}`;
  return `#/${path}${query}`;
}

export function serverHref(
  { name, principal }: { name: string; principal?: string },
  filters: Record<string, string | undefined> = {},
): string {
  return hrefOf('servers', name, { principal, ...filters });
}

/** The text itself, if it is not encoded as it should be. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

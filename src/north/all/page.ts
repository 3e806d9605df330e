import { INVALID_PARAMS, RpcError } from '../../lib/rpc-error.ts';
import { quotable } from '../../lib/values.ts';
import type { GroupEntry } from './lists.ts';

/** Many clients read only the first page, so pages are large. */
const PAGE = 1000;

/** A page of a list. Its cursor names the entry before it, so it stays valid when other entries change. */
export function pageOf(
  entries: readonly GroupEntry[],
  cursor: unknown,
): { page: readonly GroupEntry[]; nextCursor?: string | undefined } {
  const from = cursor === undefined ? 0 : entries.findIndex((entry) => cursorAt(entry) === cursor) + 1;
  if (cursor !== undefined && from === 0) {
    throw new RpcError(INVALID_PARAMS, `Invalid cursor: '${quotable(cursor)}'; read the list from its beginning`);
  }
  const page = from === 0 && entries.length <= PAGE ? entries : entries.slice(from, from + PAGE);
  const last = from + PAGE < entries.length ? page.at(-1) : undefined;
  return { page, nextCursor: last && cursorAt(last) };
}

function cursorAt({ server, id }: GroupEntry): string {
  return Buffer.from(`${server}\0${id}`).toString('base64url');
}

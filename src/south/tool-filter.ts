import { selection, type NamePatterns, type Selection } from '../lib/pattern.ts';
import { INVALID_PARAMS } from '../lib/rpc-error.ts';
import { shortenText } from '../lib/shorten.ts';
import { isObject } from '../lib/values.ts';
import { ErrorResponse } from './peer/errors.ts';

type Params = Record<string, unknown>;

/** Hides the tools of a server that the patterns of its config do not select: from its lists, and from calls. */
export class ToolFilter {
  readonly #selection: Selection;
  readonly #onUnmatched: (pattern: string) => void;
  /** The list that is being read from its first page on: the cursor of its next page, and the patterns without a match. */
  #reading: { cursor: unknown; unmatched: string[] } | undefined;

  /** `onUnmatched` gets the patterns that match no tool of a complete list. */
  constructor(patterns: NamePatterns, onUnmatched: (pattern: string) => void) {
    this.#selection = selection(patterns);
    this.#onUnmatched = onUnmatched;
  }

  /** Throws the error of a server without this tool. A name that is not a string could be taken for that of a hidden tool. */
  assertShown({ name }: Params): void {
    if (typeof name !== 'string') throw new ErrorResponse(INVALID_PARAMS, 'the name of a tool must be a string');
    if (!this.#selection.selects(name)) throw new ErrorResponse(INVALID_PARAMS, `Unknown tool: ${shortenText(name)}`);
  }

  /** A page of `tools/list` without the hidden tools. */
  shownOf(page: Params, { cursor }: Params): Params {
    const { tools } = page;
    if (!Array.isArray(tools)) return page;
    const named = tools.flatMap((tool: unknown) => {
      const name = isObject(tool) ? tool['name'] : undefined;
      return typeof name === 'string' ? [{ name, tool }] : [];
    });
    this.#check(
      named.map(({ name }) => name),
      cursor,
      page['nextCursor'],
    );
    const shown = named.filter(({ name }) => this.#selection.selects(name)).map(({ tool }) => tool);
    return { ...page, tools: shown };
  }

  #check(names: readonly string[], cursor: unknown, next: unknown): void {
    const isFirst = cursor === undefined;
    // Readers of a list may take turns; only pages that follow each other make a complete list.
    if (!isFirst && this.#reading?.cursor !== cursor) return;
    const unmatched = this.#selection.unmatched(names);
    const before = isFirst ? unmatched : (this.#reading?.unmatched ?? []);
    const remaining = unmatched.filter((pattern) => before.includes(pattern));
    const isLast = typeof next !== 'string' || next === '';
    this.#reading = isLast ? undefined : { cursor: next, unmatched: remaining };
    if (isLast) remaining.forEach(this.#onUnmatched);
  }
}

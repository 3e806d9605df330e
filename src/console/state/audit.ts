/** Lines of the audit record that match a filter: read page by page, and kept up to date while the page is shown. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useWatched } from './collection.ts';
import { epoch } from './live.ts';
import { onTick } from './tick.ts';
import { get } from '../wire/api.ts';
import type { AuditLine, Page } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface AuditPageFilter {
  kind?: string | undefined;
  server?: string | undefined;
  text?: string | undefined;
}

export interface FoundLines {
  /** The newest first. */
  items: readonly AuditLine[];
  more: boolean;
  loading: boolean;
  problem: string | undefined;
  readMore: () => void;
}

interface State {
  key: string;
  items: readonly AuditLine[];
  cursor?: string | undefined;
  /** All lines up to this one are known. */
  seq: number;
  problem?: string | undefined;
}

type AuditPage = Page<AuditLine> & { seq: number };

const LIMIT = 100;
/** How often new lines are looked for, in seconds. */
const EVERY = 2;
/** A page that is open for days must not grow with everything that happens. */
const MOST_KEPT = 2000;

export function useAudit(filter: AuditPageFilter): FoundLines {
  useWatched(epoch);
  const key = JSON.stringify([filter, epoch.get()]);
  const [state, setState] = useState<State>();
  const fits = state?.key === key ? state : undefined;
  // What a request that is under way belongs to, and what it adds to.
  const current = useRef<{ key: string; state: State | undefined; isReading: boolean }>({
    key,
    state: fits,
    isReading: false,
  });
  current.current.key = key;
  current.current.state = fits;

  const read = async (
    query: { cursor?: string | undefined; after?: number },
    put: (page: AuditPage) => State,
  ): Promise<void> => {
    if (current.current.isReading && query.after !== undefined) return;
    current.current.isReading = true;
    try {
      const page = await get<AuditPage>('/api/v1/audit', { ...filter, limit: LIMIT, ...query });
      if (current.current.key === key) setState(put(page));
    } catch (error) {
      const { state: known } = current.current;
      const problem = messageOf(error);
      if (current.current.key === key) setState({ items: [], seq: 0, ...known, key, problem });
    } finally {
      current.current.isReading = false;
    }
  };
  const readFirst = async (): Promise<void> => read({}, ({ items, next, seq }) => ({ key, items, cursor: next, seq }));
  const readMore = async (): Promise<void> =>
    read({ cursor: fits?.cursor }, ({ items, next }) => {
      const { state: known } = current.current;
      return { key, items: [...(known?.items ?? []), ...items], cursor: next, seq: known?.seq ?? 0 };
    });
  const readNew = async (after: number): Promise<void> =>
    read({ after }, ({ items, seq }) => {
      const { state: known } = current.current;
      const all = [...items.toReversed(), ...(known?.items ?? [])];
      return { key, items: all.slice(0, MOST_KEPT), cursor: known?.cursor, seq };
    });

  useEffect(() => {
    // Typing does not ask for each letter.
    const timer = setTimeout(() => void readFirst(), filter.text === undefined ? 0 : 200);
    let passed = 0;
    const stop = onTick(() => {
      passed += 1;
      const known = current.current.state;
      if (passed % EVERY !== 0 || known === undefined) return;
      if (known.seq === 0 && known.problem !== undefined) void readFirst();
      else void readNew(known.seq);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [key]);

  return {
    items: fits?.items ?? [],
    more: fits?.cursor !== undefined,
    loading: fits === undefined,
    problem: fits?.problem,
    readMore: () => void readMore(),
  };
}

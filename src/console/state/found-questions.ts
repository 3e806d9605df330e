/** Questions that the page does not keep by itself: ended ones, and those with a text. Read page by page. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useWatched } from './collection.ts';
import { epoch, putFoundQuestions } from './live.ts';
import { get } from '../wire/api.ts';
import type { Page, Question } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface FoundQuestions {
  /** Those in which the gateway has found the text. */
  ids: ReadonlySet<string>;
  next: boolean;
  loading: boolean;
  problem: string | undefined;
  readMore: () => void;
}

const LIMIT = 50;
const NONE: ReadonlySet<string> = new Set();

export function useFound(status: 'open' | 'ended', text: string): FoundQuestions {
  useWatched(epoch);
  // The page knows open questions already.
  const wanted = status === 'ended' || text !== '';
  const key = JSON.stringify([status, text, epoch.get()]);
  const [state, setState] = useState<{ key: string; ids: ReadonlySet<string>; cursor?: string; problem?: string }>();
  const fits = state?.key === key ? state : undefined;
  const current = useRef(key);
  current.current = key;
  const read = async (cursor: string | undefined): Promise<void> => {
    const earlier = cursor === undefined ? NONE : (fits?.ids ?? NONE);
    try {
      const page = await get<Page<Question>>('/api/v1/questions', { status, text, limit: LIMIT, cursor });
      putFoundQuestions(page.items);
      if (current.current !== key) return;
      const ids = new Set([...earlier, ...page.items.map(({ id }) => id)]);
      setState({ key, ids, ...(page.next !== undefined && { cursor: page.next }) });
    } catch (error) {
      if (current.current === key)
        setState({ key, ids: earlier, problem: messageOf(error), ...(cursor !== undefined && { cursor }) });
    }
  };
  useEffect(() => {
    if (!wanted) return;
    // Typing does not ask for each letter.
    const timer = setTimeout(() => void read(undefined), text === '' ? 0 : 200);
    return () => clearTimeout(timer);
  }, [key]);
  return {
    ids: fits?.ids ?? NONE,
    next: fits?.cursor !== undefined,
    loading: wanted && fits === undefined,
    problem: fits?.problem,
    readMore: () => void read(fits?.cursor),
  };
}

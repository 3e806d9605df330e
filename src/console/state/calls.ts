/** Calls that match a filter: read page by page, and kept up to date. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useWatched } from './collection.ts';
import { calls, epoch, isRunning, putCall } from './live.ts';
import { readRunning } from './running.ts';
import { get } from '../wire/api.ts';
import type { Call, Page, Summary } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface CallFilter {
  status?: 'running' | 'ended';
  /** How it ended. */
  outcome?: string;
  server?: string;
  session?: string;
  principal?: string;
  text?: string;
  task?: string;
}

const LIMIT = 200;

export interface Found {
  items: Call[];
  more: boolean;
  loading: boolean;
  problem: string | undefined;
  readMore: () => void;
}

export function useCalls(filter: CallFilter): Found {
  useWatched(calls, epoch);
  const key = JSON.stringify([filter, epoch.get()]);
  const [state, setState] = useState<{
    key: string;
    cursor?: string;
    oldest: number;
    /** Those that the gateway has found. */
    ids: ReadonlySet<string>;
    problem?: string;
    done: boolean;
  }>();
  const fits = state?.key === key ? state : undefined;
  const current = useRef(key);
  current.current = key;
  const read = async (cursor: string | undefined): Promise<void> => {
    try {
      const page = await readPage(filter, cursor);
      for (const item of page.items) putCall(item);
      if (current.current !== key) return;
      const starts = page.items.map((item) => ('startedAt' in item ? item.startedAt : item.from));
      const oldest = page.next === undefined ? 0 : Math.min(...starts);
      const earlier = cursor === undefined ? [] : (fits?.ids ?? []);
      const ids = new Set([...earlier, ...page.items.map(({ id }) => id)]);
      setState({ key, oldest, ids, done: true, ...(page.next !== undefined && { cursor: page.next }) });
    } catch (error) {
      if (current.current === key) setState({ key, oldest: 0, ids: new Set(), problem: messageOf(error), done: true });
    }
  };
  useEffect(() => {
    // Typing does not ask for each letter.
    const timer = setTimeout(() => void read(undefined), filter.text === undefined ? 0 : 200);
    return () => clearTimeout(timer);
  }, [key]);
  const oldest = fits?.oldest ?? 0;
  // What is older than the pages read so far would leave gaps.
  const items = calls
    .all()
    .filter((call) => matches(call, filter, fits?.ids) && (call.startedAt >= oldest || isRunning(call)));
  return {
    items: items.toSorted((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? 1 : -1)),
    more: fits?.cursor !== undefined,
    loading: fits === undefined,
    problem: fits?.problem,
    readMore: () => void read(fits?.cursor),
  };
}

async function readPage({ status, ...filter }: CallFilter, cursor: string | undefined): Promise<Page<Call | Summary>> {
  if (status === 'running') return { items: await readRunning({ ...filter }) };
  return get('/api/v1/calls', { ...filter, status, limit: LIMIT, cursor });
}

/** As the gateway filters; `found` are calls in which the gateway has found the text. */
export function matches(call: Call, filter: CallFilter, found?: ReadonlySet<string>): boolean {
  const { status, outcome, server, session, principal, text, task } = filter;
  if (status === 'running' && !isRunning(call)) return false;
  if (status === 'ended' && isRunning(call)) return false;
  if (outcome !== undefined && call.status !== outcome) return false;
  if (server !== undefined && call.server !== server) return false;
  if (session !== undefined && call.sessionId !== session) return false;
  if (principal !== undefined && call.principal !== principal) return false;
  if (task === 'true' && call.taskId === undefined) return false;
  return text === undefined || found?.has(call.id) === true || includesText(searched(call), text);
}

const searched = (call: Call): (string | undefined)[] => {
  const { id, server, tool, taskId, sessionId, program, principal, statusMessage, error } = call;
  return [id, server, tool, taskId, sessionId, program, principal, statusMessage, error?.message];
};

export function includesText(texts: readonly (string | undefined)[], text: string): boolean {
  return texts.some((each) => each?.toLowerCase().includes(text.toLowerCase()));
}

import { whenAborted } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { isObject } from '../../lib/values.ts';
import { RequestTimeout } from './errors.ts';
import type { Peer } from './peer.ts';

const ACKNOWLEDGE_MS = 60_000;

/** The changes to subscribe to. */
export interface ListenFilter {
  toolsListChanged?: boolean;
  resourcesListChanged?: boolean;
  promptsListChanged?: boolean;
  resourceSubscriptions?: string[];
  taskIds?: string[];
}

/** A subscription stream of a modern server. */
export interface Listening {
  /** The resources whose changes the server reports. */
  readonly uris: string[];
  /** Resolves when the stream ends: closed by us, ended properly by the server, or lost. */
  readonly closed: Promise<'closed' | 'ended' | 'lost'>;
  readonly close: () => void;
}

/** Opens a stream; resolves when the server has acknowledged it. */
export async function listen(
  peer: Peer,
  notifications: ListenFilter,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Listening> {
  const id = `listen:${peer.nextId()}`;
  const given = new AbortController();
  const close = (reason?: unknown): void => given.abort(reason ?? new Error('the stream is no longer needed'));
  const forget = whenAborted(signal, () => close(signal?.reason));
  const acknowledged = peer.onAcknowledged(id);
  const late = clock.after(ACKNOWLEDGE_MS, () => close(new RequestTimeout(ACKNOWLEDGE_MS)), { unref: true });
  const ended = peer.send(id, 'subscriptions/listen', { notifications }, { signal: given.signal }).finally(forget);
  const closed = ended.then(
    () => 'ended' as const,
    () => (given.signal.aborted ? ('closed' as const) : ('lost' as const)),
  );
  const before = ended.then(() => Promise.reject(new Error('the server ended the stream before acknowledging it')));
  try {
    const honoured = await Promise.race([acknowledged.filter, before]);
    return { uris: urisIn(honoured), closed, close: () => close() };
  } finally {
    late();
    acknowledged.forget();
  }
}

function urisIn(filter: unknown): string[] {
  const uris = isObject(filter) ? filter['resourceSubscriptions'] : undefined;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

import { backoffDelay } from '../../lib/backoff.ts';
import { parseExact } from '../../lib/exact-json.ts';
import { messageOf } from '../../lib/log.ts';
import { Failure } from '../failure.ts';
import type { ApiClient } from './api-client.ts';
import type { Call, Summary, Question } from '../../lib/api-items.ts';

export type GatewayChange =
  | { kind: 'question'; item: Question }
  | { kind: 'call'; item: Call | Summary }
  /** A server or a session has changed. */
  | { kind: 'other' };

export interface FollowOptions {
  signal: AbortSignal;
  /** The stream is open, and later changes will be reported. Earlier data may be out of date. */
  onOpen: () => Promise<void>;
  onChange: (change: GatewayChange) => void;
  /** The gateway is unreachable for this reason; the connection is retried. */
  onAway: (reason: string) => void;
}

const BACKOFF = { firstMs: 250, factor: 2, maxMs: 5000 };

/** Follows the changes at a gateway until the signal is aborted; resumes after a lost connection. */
export async function follow(api: ApiClient, { signal, onOpen, onChange, onAway }: FollowOptions): Promise<void> {
  let last: string | undefined;
  let attempt = 0;
  while (!signal.aborted) {
    try {
      if (attempt > 0) await api.lookAgain();
      const events = await api.events(last, signal);
      await onOpen();
      attempt = 0;
      for await (const { id, event, data } of events) {
        if (event === 'resync') await onOpen();
        else onChange(changeOf(event, data));
        last = id ?? last;
      }
      throw new Failure('lost', `the gateway at ${api.where} has closed the connection`);
    } catch (error) {
      if (signal.aborted) return;
      onAway(messageOf(error));
      attempt += 1;
      await pause(backoffDelay(attempt, BACKOFF), signal);
    }
  }
}

function changeOf(event: string | undefined, data: string): GatewayChange {
  if (event !== 'question' && event !== 'call') return { kind: 'other' };
  return { kind: event, item: parseExact(data) } as GatewayChange;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

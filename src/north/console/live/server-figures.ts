/** Call counts and latencies of servers, from the history. */

import type { CallEntry, HistoryEntry } from '../../../core/history/entry.ts';
import type { Gateway } from '../../../core/gateway.ts';
import type { History, ServerTally } from '../../../core/ports/history.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Server } from '../api/schemas.ts';
import type { Person } from '../person.ts';
import { sharedNames } from './servers.ts';

const HOUR_MS = 3_600_000;
/** How long a count is cached. */
const TALLY_MS = 2000;
/** The number of recent calls from which latency is computed. */
const LATEST_CALLS = 200;

export async function withFigures<T extends Server>(
  gateway: Gateway,
  person: Person,
  servers: readonly T[],
): Promise<T[]> {
  const {
    store: { history },
    clock,
  } = gateway;
  const whose = person.operator ? {} : { principal: person.principal };
  const only = servers.length === 1 ? { server: servers[0]?.name ?? '' } : {};
  const latest = { kinds: ['call'], statuses: ['completed'], order: 'newest', limit: LATEST_CALLS } as const;
  const calls = await history.read({ ...latest, ...whose, ...only });
  const shared = sharedNames(gateway, person);
  return Promise.all(
    servers.map(async (server) => {
      // If several servers share a name, each has the calls of its own principal.
      const owner = shared.has(server.name) ? (server.principal ?? person.principal) : whose.principal;
      const tally = (await tallyOf(history, clock, owner)).find((each) => each.server === server.name);
      const isOwn = (call: HistoryEntry): call is CallEntry =>
        call.kind === 'call' && call.server === server.name && (owner === undefined || call.principal === owner);
      const latencyMs = median(calls.filter(isOwn).flatMap(durationOf));
      return {
        ...server,
        calls: { lastHour: tally?.calls ?? 0, errors: tally?.errors ?? 0 },
        ...(latencyMs !== undefined && { latencyMs }),
      };
    }),
  );
}

interface Tally {
  until: number;
  counted: Promise<ServerTally[]>;
}

/** Cached counts by principal. */
const tallies = new WeakMap<History, Map<string | undefined, Tally>>();

/** Cached because counting reads all calls of an hour, and pages ask often. */
async function tallyOf(history: History, clock: Clock, principal: string | undefined): Promise<ServerTally[]> {
  const now = clock.now();
  const known = tallies.get(history) ?? new Map<string | undefined, Tally>();
  tallies.set(history, known);
  for (const [whose, { until }] of known) if (until <= now || until > now + TALLY_MS) known.delete(whose);
  const counted = known.get(principal)?.counted ?? history.tally(now - HOUR_MS, principal);
  if (!known.has(principal)) known.set(principal, { until: now + TALLY_MS, counted });
  try {
    return await counted;
  } catch (error) {
    known.delete(principal);
    throw error;
  }
}

/** `undefined` if the call waited for an answer. */
function durationOf({ startedAt, endedAt, waits }: CallEntry): number[] {
  return endedAt === undefined || waits.length > 0 ? [] : [endedAt - startedAt];
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

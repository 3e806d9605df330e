/** What the history says of servers: how many calls they had, and how long these took. */

import type { CallEntry } from '../../../core/history/entry.ts';
import type { Gateway } from '../../../core/gateway.ts';
import type { Server } from '../api/schemas.ts';
import type { Person } from '../person.ts';

const HOUR_MS = 3_600_000;
/** The last calls of all servers by which latency is told. */
const LATEST_CALLS = 200;

export async function withFigures<T extends Server>(
  { store: { history }, clock }: Gateway,
  { principal, operator }: Person,
  servers: readonly T[],
): Promise<T[]> {
  const whose = operator ? {} : { principal };
  const only = servers.length === 1 ? { server: servers[0]?.name ?? '' } : {};
  const [tallies, calls] = await Promise.all([
    history.tally(clock.now() - HOUR_MS, whose.principal),
    history.read({ kinds: ['call'], statuses: ['completed'], order: 'newest', limit: LATEST_CALLS, ...whose, ...only }),
  ]);
  return servers.map((server) => {
    const tally = tallies.find((each) => each.server === server.name);
    const latencyMs = median(
      calls.flatMap((call) => (call.kind === 'call' && call.server === server.name ? durationOf(call) : [])),
    );
    return {
      ...server,
      calls: { lastHour: tally?.calls ?? 0, errors: tally?.errors ?? 0 },
      ...(latencyMs !== undefined && { latencyMs }),
    };
  });
}

/** Only of a call that waited for nobody. */
function durationOf({ startedAt, endedAt, waits }: CallEntry): number[] {
  return endedAt === undefined || waits.length > 0 ? [] : [endedAt - startedAt];
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

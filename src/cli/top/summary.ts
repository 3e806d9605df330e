/** A summary of a gateway, from its metrics. */

import type { Sample } from './metrics-text.ts';

type Counts = Record<string, number>;

export interface ServerSummary {
  name: string;
  /** `null` if no session has tried to connect. */
  up: boolean | null;
  connections: number;
  openCalls: number;
  calls: number;
  failed: number;
  medianSeconds: number | null;
  slowestSeconds: number | null;
}

export interface GatewaySummary {
  version: string;
  startedAt: string;
  memoryBytes: number;
  cpuSeconds: number;
  sessions: Counts;
  calls: { open: number; ended: Counts; promoted: Counts };
  tasks: Counts;
  questions: { open: Counts; ended: Counts; medianWaitSeconds: number | null };
  store: { up: boolean; commits: number; failed: number; medianSeconds: number | null; slowestSeconds: number | null };
  forwarded: Counts;
  servers: ServerSummary[];
}

/** The share of calls that is not slower than `slowestSeconds`. */
export const SLOW_SHARE = 0.95;

export function summarize(samples: readonly Sample[]): GatewaySummary {
  const metrics = new Metrics(samples);
  const wait = metrics.named('meanwhile_question_wait_seconds_bucket');
  const commits = metrics.named('meanwhile_store_commit_seconds_bucket');
  return {
    version: metrics.named('meanwhile_build_info')[0]?.labels['version'] ?? '',
    startedAt: new Date(metrics.sum('process_start_time_seconds') * 1000).toISOString(),
    memoryBytes: metrics.sum('process_resident_memory_bytes'),
    cpuSeconds: metrics.sum('process_cpu_seconds_total'),
    sessions: metrics.by('meanwhile_sessions', 'view'),
    calls: {
      open: metrics.sum('meanwhile_calls_open'),
      ended: metrics.by('meanwhile_calls_total', 'outcome'),
      promoted: metrics.by('meanwhile_calls_promoted_total', 'reason'),
    },
    tasks: metrics.by('meanwhile_tasks', 'status'),
    questions: {
      open: metrics.by('meanwhile_questions_open', 'kind'),
      ended: metrics.by('meanwhile_question_wait_seconds_count', 'outcome'),
      medianWaitSeconds: quantile(0.5, wait),
    },
    store: {
      up: metrics.sum('meanwhile_store_up') === 1,
      commits: metrics.sum('meanwhile_store_commit_seconds_count'),
      failed: metrics.sum('meanwhile_store_commit_seconds_count', { outcome: 'failed' }),
      medianSeconds: quantile(0.5, commits),
      slowestSeconds: quantile(SLOW_SHARE, commits),
    },
    forwarded: metrics.by('meanwhile_forwarded_requests_total', 'outcome'),
    servers: metrics.values('server').map((name) => serverIn(metrics, name)),
  };
}

function serverIn(metrics: Metrics, name: string): ServerSummary {
  const server = { server: name };
  const tried = metrics.named('meanwhile_server_up').some(({ labels }) => labels['server'] === name);
  const calls = metrics.sum('meanwhile_calls_total', server);
  const buckets = metrics.named('mcp_client_operation_duration_seconds_bucket', {
    ...server,
    mcp_method_name: 'tools/call',
  });
  return {
    name,
    up: tried ? metrics.sum('meanwhile_server_up', server) === 1 : null,
    connections: metrics.sum('meanwhile_server_connections', { ...server, state: 'connected' }),
    openCalls: metrics.sum('meanwhile_calls_open', server),
    calls,
    failed: calls - metrics.sum('meanwhile_calls_total', { ...server, outcome: 'result' }),
    medianSeconds: quantile(0.5, buckets),
    slowestSeconds: quantile(SLOW_SHARE, buckets),
  };
}

class Metrics {
  readonly #samples: readonly Sample[];

  constructor(samples: readonly Sample[]) {
    this.#samples = samples;
  }

  named(name: string, labels: Record<string, string> = {}): Sample[] {
    const wanted = Object.entries(labels);
    return this.#samples.filter(
      (sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value),
    );
  }

  sum(name: string, labels?: Record<string, string>): number {
    return this.named(name, labels).reduce((sum, { value }) => sum + value, 0);
  }

  by(name: string, label: string): Counts {
    const counts = new Map<string, number>();
    for (const { labels, value } of this.named(name)) {
      const key = labels[label] ?? '';
      counts.set(key, (counts.get(key) ?? 0) + value);
    }
    return Object.fromEntries(counts);
  }

  /** All values of a label. */
  values(label: string): string[] {
    const all = this.#samples.flatMap(({ labels }) => labels[label] ?? []);
    return [...new Set(all)].toSorted();
  }
}

/** The quantile, as precisely as the buckets allow; `null` without samples. */
export function quantile(share: number, buckets: readonly Sample[]): number | null {
  const counts = new Map<number, number>();
  for (const { labels, value } of buckets) {
    const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  const total = counts.get(Infinity) ?? 0;
  if (total === 0) return null;
  const rank = share * total;
  let [lower, before] = [0, 0];
  for (const [bound, count] of [...counts].toSorted(([a], [b]) => a - b)) {
    if (count >= rank) {
      // Beyond the last bound nothing is known.
      if (bound === Infinity) return lower;
      return lower + (bound - lower) * ((rank - before) / (count - before));
    }
    [lower, before] = [bound, count];
  }
  return lower;
}

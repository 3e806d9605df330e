/** Whether a soak was good. */

export interface Sample {
  /** Since the beginning. */
  seconds: number;
  /** After everything was thrown away that can be. */
  heapBytes: number;
  rssBytes: number;
  sockets: number;
}

export interface Soak {
  samples: readonly Sample[];
  /** How often each pair was played. */
  plays: ReadonlyMap<string, number>;
  calls: number;
  failures: readonly string[];
  /** What was there in the end and should not have been, by kind; zeros are fine. */
  left: Readonly<Record<string, number>>;
}

export interface Verdict {
  good: boolean;
  lines: string[];
}

/** How much more the last third may need than the one before it. The first is for warming up. */
const MEASURES = {
  heapBytes: { what: 'heap', most: 0.05, show: mb },
  rssBytes: { what: 'RSS', most: 0.1, show: mb },
  sockets: { what: 'sockets', most: 0.1, show: String },
};
/** With fewer, a third says nothing. */
const FEWEST_SAMPLES = 9;
const FAILURES_SHOWN = 20;

export function judge({ samples, plays, calls, failures, left }: Soak): Verdict {
  const measures = (['heapBytes', 'rssBytes', 'sockets'] as const).map((key) => growth(samples, key));
  const leftovers = Object.entries(left).filter(([, count]) => count !== 0);
  const unplayed = [...plays].filter(([, times]) => times === 0).map(([pair]) => pair);
  const times = [...plays.values()];
  return {
    good:
      failures.length === 0 && leftovers.length === 0 && unplayed.length === 0 && measures.every(({ good }) => good),
    lines: [
      `${plays.size} pairs, each played ${Math.min(...times)} to ${Math.max(...times)} times; ${calls} calls`,
      ...(unplayed.length > 0 ? [`NOT PLAYED: ${unplayed.join(', ')}`] : []),
      ...measures.map(({ line }) => line),
      leftovers.length === 0
        ? `nothing left: no ${Object.keys(left).join(', no ')}`
        : `LEFT BEHIND: ${leftovers.map(([what, count]) => `${count} ${what}`).join(', ')}`,
      failures.length === 0 ? 'no failures' : `FAILURES: ${failures.length}`,
      ...failures.slice(0, FAILURES_SHOWN).map((failure) => `  ${failure}`),
    ],
  };
}

function growth(samples: readonly Sample[], key: keyof typeof MEASURES): { good: boolean; line: string } {
  const { what, most, show } = MEASURES[key];
  if (samples.length < FEWEST_SAMPLES) {
    return { good: true, line: `${what} not judged: ${samples.length} samples, at least ${FEWEST_SAMPLES} are needed` };
  }
  const third = Math.floor(samples.length / 3);
  const thirds = [samples.slice(0, third), samples.slice(third, -third), samples.slice(-third)];
  const medians = thirds.map((part) => median(part.map((sample) => sample[key])));
  const [, second = 0, last = 0] = medians;
  const grown = second === last ? 0 : last / second - 1;
  const good = grown <= most;
  const line =
    `${what} ${good ? 'flat' : 'GROWS'}: ${medians.map(show).join(', ')} (medians of the thirds), ` +
    `${grown < 0 ? '' : '+'}${percent(grown)} at the end; allowed: ${percent(most)}`;
  return { good, line };
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

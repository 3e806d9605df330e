export interface BackoffSettings {
  firstMs: number;
  factor: number;
  maxMs: number;
}

/** Delay before attempt `attempt` (1 is the first), with up to a quarter of jitter so that many do not come at once. */
export function backoffDelay(attempt: number, settings: BackoffSettings, random: () => number = Math.random): number {
  const full = Math.min(settings.maxMs, settings.firstMs * settings.factor ** (attempt - 1));
  return Math.round(full * (0.75 + 0.25 * random()));
}

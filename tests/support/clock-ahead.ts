const MODULE = new URL('clock-ahead.mjs', import.meta.url).href;

/** In the environment of a program: its clock is ahead, as if so much time had passed before its start. */
export function clockAhead(ms: number): Record<string, string> {
  return ms === 0 ? {} : { NODE_OPTIONS: `--import ${MODULE}`, CLOCK_AHEAD_MS: String(ms) };
}

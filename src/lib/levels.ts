/** The levels of a server's log, from what tells most to what tells least. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export function isLevel(level: unknown): level is string {
  return typeof level === 'string' && LEVELS.includes(level);
}

/** Whether who asks for `wanted` is to hear of `level`, too. */
export function includes(wanted: string, level: unknown): boolean {
  return LEVELS.indexOf(String(level)) >= LEVELS.indexOf(wanted);
}

/** The level that includes all the others; `undefined` if there is none. */
export function mostVerbose(levels: readonly (string | undefined)[]): string | undefined {
  return LEVELS.find((level) => levels.includes(level));
}

/** The log levels of the protocol, from the most to the least verbose. */
export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export function isLevel(level: unknown): level is string {
  return typeof level === 'string' && LEVELS.includes(level);
}

/** Whether a client that asks for `wanted` gets messages of `level`. */
export function includes(wanted: string, level: unknown): boolean {
  return LEVELS.indexOf(String(level)) >= LEVELS.indexOf(wanted);
}

/** The most verbose of these levels, if there is one. */
export function mostVerbose(levels: readonly (string | undefined)[]): string | undefined {
  return LEVELS.find((level) => levels.includes(level));
}

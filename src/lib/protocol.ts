/** Names of the protocol that both sides of the gateway use. */

/** The last version in which a server knows its clients by a session, and the first with tasks. */
export const LATEST_WITH_SESSIONS = '2025-11-25';

/** The only version without sessions so far. */
export const MODERN_VERSION = '2026-07-28';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The requests with which a client and a server introduce themselves to each other. */
export const INTRODUCTIONS: ReadonlySet<string> = new Set(['initialize', 'server/discover']);

/** The usual name of a protocol generation: with a session from `initialize` on, or without. */
export function eraName({ sessions }: { sessions: boolean }): 'legacy' | 'modern' {
  return sessions ? 'legacy' : 'modern';
}

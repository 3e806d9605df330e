/** Names of the protocol that both sides of the gateway use. */

/** The last version with sessions, and the first with tasks. */
export const LATEST_WITH_SESSIONS = '2025-11-25';

/** The only version without sessions so far. */
export const MODERN_VERSION = '2026-07-28';

/** The legacy versions, newest first. */
export const SESSION_VERSIONS: readonly string[] = [
  LATEST_WITH_SESSIONS,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
];

/** The `_meta` keys with which a modern client describes itself in each request. */
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo';
export const CLIENT_CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
export const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel';

/** All of these, which are not forwarded to servers. */
export const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  VERSION_KEY,
  CLIENT_INFO_KEY,
  CLIENT_CAPABILITIES_KEY,
  LOG_LEVEL_KEY,
]);

/** The `_meta` key with which a modern server describes itself in each result. */
export const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo';

/** The key in `_meta` of notifications with the id of the request that subscribed to them. */
export const SUBSCRIPTION_ID_KEY = 'io.modelcontextprotocol/subscriptionId';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Cancels a request, in either direction. */
export const CANCELLED = 'notifications/cancelled';

/** The requests that start a connection. */
export const INTRODUCTIONS: ReadonlySet<string> = new Set(['initialize', 'server/discover']);

/** The name of the era: legacy with sessions, modern without. */
export function eraName({ sessions }: { sessions: boolean }): 'legacy' | 'modern' {
  return sessions ? 'legacy' : 'modern';
}

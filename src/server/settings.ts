import { explain, showPath } from '../config/mistakes.ts';
import { fileSchema, type Settings } from '../config/schema.ts';
import type { ListenOptions, ServerSettings } from './types.ts';

const HOUR_MS = 3_600_000;

/** Defaults that differ from those of the gateway: tasks may run for long, and many of them share few sessions. */
const DEFAULTS = {
  logLevel: 'error',
  tasks: { ttlMs: HOUR_MS, maxTtlMs: 24 * HOUR_MS, perSession: 10_000, max: 100_000 },
  questions: { timeoutMs: HOUR_MS, perSession: 10_000 },
  // Longer than a task may take: the results are deleted with an idle session.
  sessions: { idleMs: 2 * HOUR_MS, max: 10_000 },
} as const satisfies ServerSettings;

/** Throws an error that lists every mistake. */
export function settingsFrom(
  given: ServerSettings = {},
  store = ':memory:',
  { tokens, host, port = 0, allowedHosts, allowedOrigins }: ListenOptions = {},
): Settings {
  const meanwhile = {
    ...DEFAULTS,
    ...given,
    tasks: { ...DEFAULTS.tasks, ...given.tasks },
    questions: { ...DEFAULTS.questions, ...given.questions },
    sessions: { ...DEFAULTS.sessions, ...given.sessions },
    // Nobody could look at it.
    history: { keepMs: 0 },
    store,
    port,
    ...(host !== undefined && { host }),
    ...(tokens && { auth: { tokens } }),
    ...(allowedHosts && { allowedHosts }),
    ...(allowedOrigins && { allowedOrigins }),
  };
  const parsed = fileSchema.safeParse({ meanwhile });
  if (parsed.success) return { ...parsed.data.meanwhile, logLevel: meanwhile.logLevel, store };
  const mistakes = explain(parsed.issues, { meanwhile });
  throw new TypeError(mistakes.map(({ path, message }) => `${showPath(path.slice(1))}: ${message}`).join('\n'));
}

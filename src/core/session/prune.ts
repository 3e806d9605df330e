import type { Store } from '../ports.ts';
import type { CoreSettings } from '../settings.ts';

/** Drops what earlier runs left behind and nobody can want any more. */
export async function forgetStale(store: Store, { tasks, sessions }: CoreSettings, now: number): Promise<void> {
  const wanted = new Set<string>();
  for (const task of await store.all('task')) {
    const over = task.keepUntil ?? task.updatedAt + tasks.maxTtlMs + tasks.keepMs;
    if (over <= now) store.drop('task', task.id);
    else wanted.add(task.sessionId);
  }
  for (const session of await store.all('session')) {
    // One that lives is refreshed at every check; two missed checks on top of its idle time mean that it does not.
    const over = session.lastActiveAt + sessions.idleMs + 2 * sessions.checkMs;
    if (!wanted.has(session.id) && over <= now) store.drop('session', session.id);
  }
}

/** Records as a store keeps them. */

import type { SessionEvent } from '../../src/core/event/event.ts';
import type { Interaction } from '../../src/core/interaction/interaction.ts';
import type { ServerRecord, SessionRecord } from '../../src/core/ports/records.ts';
import type { Gateway } from '../../src/core/gateway.ts';
import { createTask, type Task } from '../../src/core/task/task.ts';
import type { RecordKind, Records } from '../../src/store/queue.ts';
import { SqliteStore } from '../../src/store/sqlite/store.ts';

export const session = (id: string): SessionRecord => ({
  id,
  principal: 'local',
  createdAt: 1,
  lastActiveAt: 1,
  view: { kind: 'hub' },
  owner: { kind: 'connection' },
});

export const task = (id: string, sessionId: string, tool = 'sleep'): Task =>
  createTask({ id, sessionId, server: 'demo', tool, args: {}, ttlMs: 1000 }, 1);

export const question = (id: string, sessionId: string): Interaction => ({
  id,
  sessionId,
  server: 'demo',
  kind: 'elicitation',
  params: { message: 'Sure?' },
  status: 'open',
  createdAt: 1,
  expiresAt: 2,
  link: { certainty: 'none' },
  audience: 'anyone',
});

export const event = (id: string, sessionId: string): SessionEvent => ({
  id,
  sessionId,
  type: 'task_created',
  server: 'demo',
  createdAt: 1,
  data: {},
});

export const server = (id: string): ServerRecord => ({
  id,
  owner: 'local',
  name: id,
  config: { url: 'http://x/' },
  addedAt: 1,
  addedBy: 'local',
});

/** All records of a kind in the store of a gateway in this process. */
export async function storedIn<K extends RecordKind>({ store }: Gateway, kind: K): Promise<Records[K][]> {
  if (!(store instanceof SqliteStore)) throw new TypeError('the store is not on SQLite');
  return store.all(kind);
}

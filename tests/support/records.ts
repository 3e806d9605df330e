/** Records as a store keeps them. */

import type { SessionEvent } from '../../src/core/event/event.ts';
import type { Interaction } from '../../src/core/interaction/interaction.ts';
import type { ServerRecord, SessionRecord } from '../../src/core/ports.ts';
import { createTask, type Task } from '../../src/core/task/task.ts';

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
